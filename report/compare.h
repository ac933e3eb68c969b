// Several runs beside each other: which settings learn better, over their seeds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "figures/plot.h"
#include "train/run/run_log.h"

namespace fovea {

/// What a run has written into its log.csv.
struct LoggedRun {
  TaskInfo task;
  std::vector<EpochRow> rows;

  /// What stands in a column after epoch `epoch` (from 0); nothing where it was not measured, and
  /// where the run has no such column.
  [[nodiscard]] std::optional<double> value(const std::string& column, std::int64_t epoch) const;
};

/// Runs that differ by nothing but their seed.
struct RunGroup {
  std::string label;
  std::vector<LoggedRun> runs;

  /// Epochs that every run has behind it.
  [[nodiscard]] std::int64_t epochs() const;
  /// LoggedRun::value() of each run that has one.
  [[nodiscard]] std::vector<double> values(const std::string& column, std::int64_t epoch) const;
};

/// Groups of runs that choose their best epoch by the same score.
struct Comparison {
  TaskInfo task;
  std::vector<RunGroup> groups;

  /// Of the logs of all runs, the epoch left out: those of the first, then what others add.
  [[nodiscard]] std::vector<std::string> columns() const;
};

/// A Markdown table with a row per group: runs, epochs, and the mean of the held-out scores after
/// the last common epoch; of the score that chooses the best epoch its lowest and highest, too.
[[nodiscard]] std::string comparison_table(const Comparison& comparison);
/// label, run, and the rows of each run's log.csv.
[[nodiscard]] std::string comparison_csv(const Comparison& comparison);
/// Means by epoch, a line per group. A curve is called as its column of log.csv, or, of held-out
/// images, as what was measured: "top1" is "eval_top1". Empty: the score that chooses the best
/// epoch. Throws UsageError where no run has values of it, naming what they have.
[[nodiscard]] Chart comparison_chart(const Comparison& comparison, const std::string& curve = {});

}  // namespace fovea
