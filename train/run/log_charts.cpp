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
  const auto add_all = [&](const auto& get, const std::string& ending) {
    for (std::size_t i = 0; i < task.measures.size(); ++i) {
      const Measure& measure = task.measures[i];
      if (measure.chart != heading || measure.is_detail) continue;
      const std::string name = measure.is_loss ? "held out" : measure.title;
      add_series(chart, name + ending, rows, i, get);
    }
  };
  add_all(eval, "");
  add_all(ema, ", EMA");
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
  for (std::size_t i = 0; i < task.loss_parts.size(); ++i) {
    add_series(
        loss, "training, " + task.loss_parts[i], rows, i,
        [](const EpochRow& row) -> auto& { return row.train_parts; });
  }
  add_measures(loss, task, rows, "");
  for (const Measure& measure : task.measures) {
    const bool is_drawn = measure.chart.empty() ||
                          std::any_of(charts.begin(), charts.end(),
                                      [&](const Chart& c) { return c.title == measure.chart; });
    if (is_drawn) continue;
    Chart chart{measure.chart, "epochs", measure.is_percent ? "percent" : measure.title, {}};
    add_measures(chart, task, rows, measure.chart);
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace fovea
