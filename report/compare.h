// Several runs beside each other: which settings learn better, over their seeds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "figures/plot.h"
#include "train/run/run_log.h"

namespace fovea {

/// Runs that differ by nothing but their seed.
struct RunGroup {
  std::string label;
  std::vector<std::vector<EpochRow>> runs;  ///< the rows of each run's log.csv; none is empty

  /// Epochs that every run has behind it.
  [[nodiscard]] std::int64_t epochs() const;
  /// Number `measure` of the held-out scores of each run after epoch `epoch` (from 0); without
  /// those that were not evaluated there.
  [[nodiscard]] std::vector<double> scores(std::size_t measure, std::int64_t epoch) const;
};

/// Groups of runs of one task, by the score that it chooses its best epoch by.
struct Comparison {
  TaskInfo task;
  std::vector<RunGroup> groups;
};

/// A Markdown table with a row per group: runs, epochs, and the mean of the held-out scores after
/// the last common epoch with the lowest and the highest of its runs.
[[nodiscard]] std::string comparison_table(const Comparison& comparison);
/// label,run,epoch,train_loss,eval_<measure>: a row per epoch of each run.
[[nodiscard]] std::string comparison_csv(const Comparison& comparison);
/// Mean held-out score by epoch, a line per group.
[[nodiscard]] Chart comparison_chart(const Comparison& comparison);

}  // namespace fovea
