// Runs beside each other: means over seeds, as far as all runs have come.
#include "report/compare.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/base/fields.h"
#include "tests/support/temporary_folder.h"
#include "train/tasks/classification.h"

using namespace fovea;

namespace {

LoggedRun run_of(const std::vector<double>& top1) {
  LoggedRun run{classification_info({}), {}};
  for (const double value : top1) {
    EpochRow row;
    row.epoch = std::ssize(run.rows);
    row.train_loss = 1.5;
    row.eval = {2, value, 99};
    row.lr = 1e-7;
    run.rows.push_back(row);
  }
  return run;
}

/// Its loss has the parts of a teacher.
LoggedRun taught_run() {
  ClassificationOptions options;
  options.objective.distillation = Distillation::soft;
  LoggedRun run = run_of({40});
  run.task = classification_info(options);
  run.rows[0].train_parts = {1, 0.5};
  return run;
}

RunComparison of(const std::vector<RunGroup>& groups) { return {classification_info({}), groups}; }

}  // namespace

TEST_CASE("a table shows mean and range after the last epoch of all runs of a group") {
  const std::vector<RunGroup> groups{{"none", {run_of({10, 20, 90}), run_of({30, 41})}},
                                     {"learned", {run_of({50})}}};
  CHECK(comparison_table(of(groups)) ==
        "| run | seeds | epochs | top-1, % | lowest | highest | loss | top-5, % |\n"
        "|---|---|---|---|---|---|---|---|\n"
        "| none | 2 | 2 | 30.50 | 20.00 | 41.00 | 2 | 99.00 |\n"
        "| learned | 1 | 1 | 50.00 | 50.00 | 50.00 | 2 | 99.00 |\n");
}

TEST_CASE("the best epoch of each run, as evaluate takes it: the first of equal ones") {
  RunComparison runs = of({{"a", {run_of({10, 90, 20, 90}), run_of({40})}}, {"new", {run_of({})}}});
  runs.shown = ShownEpoch::best;
  const std::string table = comparison_table(runs);
  CHECK(contains(table, "| run | seeds | best epoch | top-1, % |"));
  CHECK(contains(table, "| a | 2 | 2, 1 | 65.00 | 40.00 | 90.00 | 2 | 99.00 |"));
  CHECK(contains(table, "| new | 1 | - | | | | | |"));
  const double none = std::nan("");
  runs.groups = {{"a", {run_of({none, 20, none})}}, {"b", {run_of({none})}}};
  CHECK(contains(comparison_table(runs), "| a | 1 | 2 | 20.00 |"));
  CHECK(contains(comparison_table(runs), "| b | 1 | - | |"));
  CHECK(contains(shown_epoch_text(runs), "best epoch by top-1"));
  CHECK(contains(shown_epoch_text(of(runs.groups)), "the last evaluated epoch that all runs"));
}

TEST_CASE("a table skips epochs after which not all runs of a group were evaluated") {
  LoggedRun every_second = run_of({0, 20, 0, 40, 0});
  for (const std::size_t epoch : {0, 2, 4}) every_second.rows[epoch].eval.clear();
  const RunComparison runs = of({{"a", {every_second, run_of({1, 2, 3, 4, 5})}}});
  CHECK(contains(comparison_table(runs), "| a | 2 | 4 | 22.00 | 4.00 | 40.00 |"));
}

TEST_CASE("a group of runs that have no epoch in common has an empty row") {
  const std::vector<RunGroup> groups{{"new", {run_of({10}), run_of({})}}};
  CHECK(comparison_table(of(groups)).ends_with("| new | 2 | 0 | | | | | |\n"));
}

TEST_CASE("losses show the digits that count, however small they are") {
  LoggedRun run = run_of({100});
  run.rows[0].eval[0] = 1e-7;
  run.rows[0].train_loss = 2.5e-9;
  const std::vector<RunGroup> groups{{"a", {run}}};
  CHECK(contains(comparison_table(of(groups)), "| 1e-07 |"));
  CHECK(contains(comparison_csv(of(groups)), "a,1,0,2.5e-09,1e-07,100,99,"));
}

TEST_CASE("curves are means, and epochs that were not evaluated leave no point") {
  LoggedRun gap = run_of({10, 20, 30});
  gap.rows[1].eval.clear();
  const std::vector<RunGroup> groups{{"a", {run_of({0, 10}), run_of({20, 30})}}, {"b", {gap}}};
  const Chart chart = comparison_chart(of(groups));
  REQUIRE(chart.series.size() == 2);
  CHECK(chart.series[0].x == std::vector<double>{1, 2});
  CHECK(chart.series[0].y == std::vector<double>{10, 20});
  CHECK(chart.series[1].x == std::vector<double>{1, 3});
  CHECK(chart.series[1].y == std::vector<double>{10, 30});
}

TEST_CASE("a curve is named as its column, or as the measure of held-out images") {
  const std::vector<RunGroup> groups{{"a", {run_of({10, 20})}}};
  const auto first = [&](const char* curve) {
    return comparison_chart(of(groups), curve).series[0].y.front();
  };
  CHECK(first("top1") == 10);
  CHECK(first("eval_top1") == 10);
  CHECK(first("top5") == 99);
  CHECK(first("loss") == 2);
  CHECK(first("train_loss") == 1.5);
  CHECK(first("lr") == 1e-7);
  CHECK(comparison_chart(of(groups), "top5").y_label == "top-5, percent");
  CHECK(comparison_chart(of(groups), "lr").y_label == "learning rate");
  for (const char* curve : {"top", "ema_top1", "epoch"}) {
    CHECK_THROWS_AS(static_cast<void>(comparison_chart(of(groups), curve)), UsageError);
  }
  CHECK(message_of([&] { (void)comparison_chart(of(groups), "ema_top1"); }) ==
        "--curve: got ema_top1, expected one of train_loss, loss, top1, top5, lr, img_s, seconds, "
        "the logged columns");
}

TEST_CASE("runs that log different columns stand in one CSV and one chart") {
  const std::vector<RunGroup> groups{{"a", {run_of({10})}}, {"taught", {taught_run()}}};
  const RunComparison both = of(groups);
  CHECK(both.columns().back() == "train_teacher");
  const std::string csv = comparison_csv(both);
  CHECK(contains(csv, "a,1,0,1.5,2,10,99,1e-07,,,,0,0,,\n"));
  CHECK(contains(csv, "taught,1,0,1.5,2,40,99,1e-07,,,,0,0,1,0.5\n"));
  const Chart chart = comparison_chart(both, "train_teacher");
  CHECK(chart.series[0].y.empty());
  CHECK(chart.series[1].y == std::vector<double>{0.5});
  CHECK(chart.y_label == "loss, teacher");
}

TEST_CASE("the CSV has the rows of each run's log, its labels quoted") {
  const std::vector<RunGroup> groups{{"4x4, \"no\" position", {run_of({12.5}), run_of({25})}}};
  CHECK(comparison_csv(of(groups)) ==
        "label,run,epoch,train_loss,eval_loss,eval_top1,eval_top5,lr,ema_loss,ema_top1,ema_top5,"
        "img_s,seconds\n"
        "\"4x4, \"\"no\"\" position\",1,0,1.5,2,12.5,99,1e-07,,,,0,0\n"
        "\"4x4, \"\"no\"\" position\",2,0,1.5,2,25,99,1e-07,,,,0,0\n");
}
