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

}  // namespace

std::int64_t RunGroup::epochs() const {
  std::size_t common = runs.empty() ? 0 : runs.front().size();
  for (const std::vector<EpochRow>& run : runs) common = std::min(common, run.size());
  return static_cast<std::int64_t>(common);
}

std::vector<double> RunGroup::top1(std::int64_t epoch) const {
  std::vector<double> values;
  for (const std::vector<EpochRow>& run : runs) {
    const std::optional<double> value = run[static_cast<std::size_t>(epoch)].eval_top1;
    if (value) values.push_back(*value);
  }
  return values;
}

std::string comparison_table(std::span<const RunGroup> groups) {
  std::string table =
      "| run | seeds | epochs | top-1, % | lowest | highest |\n|---|---|---|---|---|---|\n";
  for (const RunGroup& group : groups) {
    const std::vector<double> last =
        group.epochs() > 0 ? group.top1(group.epochs() - 1) : std::vector<double>{};
    table += "| " + group.label + " | " + std::to_string(group.runs.size()) + " | " +
             std::to_string(group.epochs()) + " | ";
    if (last.empty()) {
      table += "| | |\n";
      continue;
    }
    table += fixed_text(mean(last), 2) + " | " +
             fixed_text(*std::min_element(last.begin(), last.end()), 2) + " | " +
             fixed_text(*std::max_element(last.begin(), last.end()), 2) + " |\n";
  }
  return table;
}

std::string comparison_csv(std::span<const RunGroup> groups) {
  std::string csv = "label,run,epoch,train_loss,eval_top1\n";
  for (const RunGroup& group : groups) {
    for (std::size_t i = 0; i < group.runs.size(); ++i) {
      for (const EpochRow& row : group.runs[i]) {
        csv += csv_cell(group.label) + "," + std::to_string(i + 1) + "," +
               std::to_string(row.epoch) + "," + std::to_string(row.train_loss) + "," +
               (row.eval_top1 ? fixed_text(*row.eval_top1, 2) : "") + "\n";
      }
    }
  }
  return csv;
}

Chart comparison_chart(std::span<const RunGroup> groups) {
  Chart chart{"Accuracy on held-out images", "epochs", "top-1, percent", {}};
  for (const RunGroup& group : groups) {
    Series series{group.label, {}, {}};
    for (std::int64_t epoch = 0; epoch < group.epochs(); ++epoch) {
      const std::vector<double> values = group.top1(epoch);
      if (values.empty()) continue;
      series.x.push_back(static_cast<double>(epoch + 1));
      series.y.push_back(mean(values));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace fovea
