// A chart's series is a column of the log, without the epochs that have no value there.
#include "train/curves.h"

#include <optional>
#include <string>

namespace fovea {
namespace {

/// The values of one column; nothing when no row has one.
template <class Get>
void add_series(Chart& chart, std::string name, std::span<const EpochRow> rows, Get&& get) {
  Series series{std::move(name), {}, {}};
  for (const EpochRow& row : rows) {
    const std::optional<double> value = get(row);
    if (!value) continue;
    series.x.push_back(static_cast<double>(row.epoch + 1));
    series.y.push_back(*value);
  }
  if (!series.x.empty()) chart.series.push_back(std::move(series));
}

}  // namespace

std::vector<Chart> training_curves(std::span<const EpochRow> rows) {
  Chart loss{"Loss", "epochs", "mean loss per sample", {}};
  add_series(loss, "training", rows, [](const EpochRow& r) { return std::optional(r.train_loss); });
  add_series(loss, "held out", rows, [](const EpochRow& r) { return r.eval_loss; });
  add_series(loss, "held out, EMA", rows, [](const EpochRow& r) { return r.ema_loss; });
  Chart accuracy{"Accuracy on held-out images", "epochs", "percent", {}};
  add_series(accuracy, "top-1", rows, [](const EpochRow& r) { return r.eval_top1; });
  add_series(accuracy, "top-5", rows, [](const EpochRow& r) { return r.eval_top5; });
  add_series(accuracy, "top-1, EMA", rows, [](const EpochRow& r) { return r.ema_top1; });
  return {std::move(loss), std::move(accuracy)};
}

}  // namespace fovea
