// Tables and curves over groups of runs.
#include "report/compare.h"
#include "base/text.h"

#include <algorithm>
#include <numeric>

namespace fovea {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

int digits_of(const Measure& measure) { return measure.is_percent ? 2 : 4; }

std::string column_title(const Measure& measure) {
  return measure.title + (measure.is_percent ? ", %" : "");
}

}  // namespace

std::int64_t RunGroup::epochs() const {
  std::size_t common = runs.empty() ? 0 : runs.front().size();
  for (const std::vector<EpochRow>& run : runs) common = std::min(common, run.size());
  return static_cast<std::int64_t>(common);
}

std::vector<double> RunGroup::scores(std::size_t measure, std::int64_t epoch) const {
  std::vector<double> values;
  for (const std::vector<EpochRow>& run : runs) {
    const Scores& scores = run[static_cast<std::size_t>(epoch)].eval;
    if (!scores.empty()) values.push_back(scores.at(measure));
  }
  return values;
}

std::string comparison_table(const Comparison& comparison) {
  const Measure& measure = comparison.task.best_measure();
  const auto text = [&](double value) { return fixed_text(value, digits_of(measure)); };
  std::string table = "| run | seeds | epochs | " + column_title(measure) +
                      " | lowest | highest |\n|---|---|---|---|---|---|\n";
  for (const RunGroup& group : comparison.groups) {
    const std::vector<double> last = group.epochs() > 0
                                         ? group.scores(comparison.task.best, group.epochs() - 1)
                                         : std::vector<double>{};
    table += "| " + group.label + " | " + std::to_string(group.runs.size()) + " | " +
             std::to_string(group.epochs()) + " | ";
    if (last.empty()) {
      table += "| | |\n";
      continue;
    }
    table += text(mean(last)) + " | " + text(*std::min_element(last.begin(), last.end())) + " | " +
             text(*std::max_element(last.begin(), last.end())) + " |\n";
  }
  return table;
}

std::string comparison_csv(const Comparison& comparison) {
  const TaskInfo& task = comparison.task;
  std::string csv = "label,run,epoch,train_loss,eval_" + task.best_measure().name + "\n";
  for (const RunGroup& group : comparison.groups) {
    for (std::size_t i = 0; i < group.runs.size(); ++i) {
      for (const EpochRow& row : group.runs[i]) {
        csv += csv_cell(group.label) + "," + std::to_string(i + 1) + "," +
               std::to_string(row.epoch) + "," + std::to_string(row.train_loss) + "," +
               (row.eval.empty()
                    ? ""
                    : fixed_text(task.best_score(row.eval), digits_of(task.best_measure()))) +
               "\n";
      }
    }
  }
  return csv;
}

Chart comparison_chart(const Comparison& comparison) {
  const Measure& measure = comparison.task.best_measure();
  Chart chart{measure.chart.empty() ? "Held-out images" : measure.chart,
              "epochs",
              measure.title + (measure.is_percent ? ", percent" : ""),
              {}};
  for (const RunGroup& group : comparison.groups) {
    Series series{group.label, {}, {}};
    for (std::int64_t epoch = 0; epoch < group.epochs(); ++epoch) {
      const std::vector<double> values = group.scores(comparison.task.best, epoch);
      if (values.empty()) continue;
      series.x.push_back(static_cast<double>(epoch + 1));
      series.y.push_back(mean(values));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace fovea
