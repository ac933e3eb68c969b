// Charts of a run: a series is a column of the log, without epochs that lack a value.
#include "train/run/log_charts.h"

#include <algorithm>
#include <string>

namespace fovea {
namespace {

/// One column as a series; empty if no row has the column's group.
template <class Get>
void add_series(Chart& chart, const std::string& name, std::span<const EpochRow> rows,
                std::size_t index, Get&& get) {
  Series series{name, {}, {}};
  for (const EpochRow& row : rows) {
    const std::vector<double>& group = get(row);
    if (group.empty()) continue;
    series.x.push_back(static_cast<double>(row.epoch + 1));
    series.y.push_back(group.at(index));
  }
  if (!series.x.empty()) chart.series.push_back(std::move(series));
}

/// Adds the metrics that are drawn under `heading`.
void add_measures(Chart& chart, const TaskInfo& task, std::span<const EpochRow> rows,
                  const std::string& heading) {
  const auto eval = [](const EpochRow& row) -> auto& { return row.eval; };
  const auto ema = [](const EpochRow& row) -> auto& { return row.ema; };
  const bool beside_training = !chart.series.empty();
  const auto add_all = [&](const auto& get, const std::string& ending) {
    for (std::size_t i = 0; i < task.measures.size(); ++i) {
      const Measure& measure = task.measures[i];
      if (measure.chart != heading || measure.is_detail || measure.is_trivial) continue;
      const bool is_trained = measure.is_loss || (beside_training && !heading.empty());
      add_series(chart, (is_trained ? "held out" : measure.title) + ending, rows, i, get);
    }
  };
  add_all(eval, "");
  add_all(ema, ", EMA");
}

/// The measure with the name of a part of the loss; null if there is none.
const Measure* measure_of_part(const TaskInfo& task, const std::string& part) {
  const auto found = std::ranges::find(task.measures, part, &Measure::name);
  return found == task.measures.end() ? nullptr : &*found;
}

/// Adds the training curves of the parts of the loss whose measures are drawn under `heading`.
void add_parts(Chart& chart, const TaskInfo& task, std::span<const EpochRow> rows,
               const std::string& heading) {
  const auto parts = [](const EpochRow& row) -> auto& { return row.train_parts; };
  for (std::size_t i = 0; i < task.loss_parts.size(); ++i) {
    const Measure* const measure = measure_of_part(task, task.loss_parts[i]);
    if (measure != nullptr && measure->is_detail) continue;
    if ((measure == nullptr ? "" : measure->chart) != heading) continue;
    const std::string name = heading.empty() ? "training, " + task.loss_parts[i] : "training";
    add_series(chart, name, rows, i, parts);
  }
}

}  // namespace

std::vector<Chart> log_charts(const TaskInfo& task, std::span<const EpochRow> rows) {
  std::vector<Chart> charts{{"Loss", "epochs", "mean loss per sample", {}}};
  Chart& loss = charts.front();
  Series whole{"training", {}, {}};
  for (const EpochRow& row : rows) {
    whole.x.push_back(static_cast<double>(row.epoch + 1));
    whole.y.push_back(row.train_loss);
  }
  if (!rows.empty()) loss.series.push_back(std::move(whole));
  add_parts(loss, task, rows, "");
  add_measures(loss, task, rows, "");
  for (const Measure& measure : task.measures) {
    const auto has_title = [&](const Chart& chart) { return chart.title == measure.chart; };
    const bool is_hidden = measure.is_detail || measure.is_trivial;
    if (measure.chart.empty() || is_hidden || std::ranges::any_of(charts, has_title)) continue;
    Chart chart{measure.chart, "epochs", measure.is_percent ? "percent" : measure.title, {}};
    add_parts(chart, task, rows, measure.chart);
    add_measures(chart, task, rows, measure.chart);
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace fovea
