// Runs beside each other: means over seeds, as far as all runs have come.
#include "report/compare.h"

#include <doctest/doctest.h>

#include "train/tasks/classification.h"

using namespace fovea;

namespace {

std::vector<EpochRow> run_of(const std::vector<double>& top1) {
  std::vector<EpochRow> rows;
  for (const double value : top1) {
    EpochRow row;
    row.epoch = static_cast<std::int64_t>(rows.size());
    row.train_loss = 1.5;
    row.eval = {2, value, 99};
    rows.push_back(row);
  }
  return rows;
}

Comparison of(const std::vector<RunGroup>& groups) { return {classification_info({}), groups}; }

}  // namespace

TEST_CASE("a table shows mean and range after the last epoch that all runs of a group have") {
  const std::vector<RunGroup> groups{{"none", {run_of({10, 20, 90}), run_of({30, 41})}},
                                     {"learned", {run_of({50})}}};
  CHECK(comparison_table(of(groups)) ==
        "| run | seeds | epochs | top-1, % | lowest | highest |\n"
        "|---|---|---|---|---|---|\n"
        "| none | 2 | 2 | 30.50 | 20.00 | 41.00 |\n"
        "| learned | 1 | 1 | 50.00 | 50.00 | 50.00 |\n");
}

TEST_CASE("a group of runs that have no epoch in common has an empty row") {
  const std::vector<RunGroup> groups{{"new", {run_of({10}), {}}}};
  CHECK(comparison_table(of(groups)).ends_with("| new | 2 | 0 | | | |\n"));
}

TEST_CASE("curves are means, and epochs that were not evaluated leave no point") {
  std::vector<EpochRow> gap = run_of({10, 20, 30});
  gap[1].eval.clear();
  const std::vector<RunGroup> groups{{"a", {run_of({0, 10}), run_of({20, 30})}}, {"b", {gap}}};
  const Chart chart = comparison_chart(of(groups));
  REQUIRE(chart.series.size() == 2);
  CHECK(chart.series[0].x == std::vector<double>{1, 2});
  CHECK(chart.series[0].y == std::vector<double>{10, 20});
  CHECK(chart.series[1].x == std::vector<double>{1, 3});
  CHECK(chart.series[1].y == std::vector<double>{10, 30});
}

TEST_CASE("the CSV has a row per epoch of each run, its labels quoted") {
  const std::vector<RunGroup> groups{{"4x4, \"no\" position", {run_of({12.5}), run_of({25})}}};
  CHECK(comparison_csv(of(groups)) ==
        "label,run,epoch,train_loss,eval_top1\n"
        "\"4x4, \"\"no\"\" position\",1,0,1.500000,12.50\n"
        "\"4x4, \"\"no\"\" position\",2,0,1.500000,25.00\n");
}
