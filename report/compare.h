// Several runs beside each other: which settings learn better, over their seeds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "figures/plot.h"
#include "train/run_log.h"

namespace fovea {

/// Runs that differ by nothing but their seed.
struct RunGroup {
  std::string label;
  std::vector<std::vector<EpochRow>> runs;  ///< the rows of each run's log.csv; none is empty

  /// Epochs that every run has behind it.
  [[nodiscard]] std::int64_t epochs() const;
  /// Held-out top-1 of each run after epoch `epoch` (from 0), in percent; without those that were
  /// not evaluated there.
  [[nodiscard]] std::vector<double> top1(std::int64_t epoch) const;
};

/// A Markdown table with a row per group: runs, epochs, and the mean of held-out top-1 after the
/// last common epoch with the lowest and the highest of its runs.
[[nodiscard]] std::string comparison_table(std::span<const RunGroup> groups);
/// label,run,epoch,train_loss,eval_top1: a row per epoch of each run.
[[nodiscard]] std::string comparison_csv(std::span<const RunGroup> groups);
/// Mean held-out top-1 by epoch, a line per group.
[[nodiscard]] Chart comparison_chart(std::span<const RunGroup> groups);

}  // namespace fovea
