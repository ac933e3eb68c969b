// Comparison of several runs: which settings learn better, over their seeds.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "data/figures/plot.h"
#include "engine/base/names.h"
#include "train/run/run_log.h"

namespace fovea {

/// A run's log.csv.
struct LoggedRun {
  TaskInfo task;
  std::vector<EpochRow> rows;

  /// The value of a column after epoch `epoch` (from 0); empty if it was not measured or if the run
  /// has no such column.
  [[nodiscard]] std::optional<double> value(const std::string& column, std::int64_t epoch) const;
  /// The epoch (from 0) with the best held-out scores, of which the run keeps the weights; -1:
  /// none was evaluated.
  [[nodiscard]] std::int64_t best_epoch() const;
};

/// Runs that differ only by their seed.
struct RunGroup {
  std::string label;
  std::vector<LoggedRun> runs;

  /// Number of epochs completed by all runs.
  [[nodiscard]] std::int64_t epochs() const;
  /// Number of epochs up to the last one after which all runs were evaluated; epochs() without one.
  [[nodiscard]] std::int64_t evaluated_epochs() const;
  /// LoggedRun::value() of each run that has the value.
  [[nodiscard]] std::vector<double> values(const std::string& column, std::int64_t epoch) const;
};

/// The epoch whose scores a table shows.
enum class ShownEpoch {
  last,  ///< the last one after which all runs of a group were evaluated
  best,  ///< of each run, its best one
};
template <>
inline constexpr auto kNames<ShownEpoch> =
    std::to_array<Named<ShownEpoch>>({{ShownEpoch::last, "last"}, {ShownEpoch::best, "best"}});

/// Groups of runs with the same main metric.
struct RunComparison {
  TaskInfo task;
  std::vector<RunGroup> groups;
  ShownEpoch shown = ShownEpoch::last;

  /// The columns of all logs except the epoch: those of the first log, then those added by others.
  [[nodiscard]] std::vector<std::string> columns() const;
};

/// A Markdown table with one row per group: runs, epochs (or the best epoch of each run), and the
/// mean held-out scores of the shown epoch; for the main metric also the lowest and highest.
[[nodiscard]] std::string comparison_table(const RunComparison& comparison);
/// Which epoch the table shows, in a sentence.
[[nodiscard]] std::string shown_epoch_text(const RunComparison& comparison);
/// CSV with label, run, and the rows of each run's log.csv.
[[nodiscard]] std::string comparison_csv(const RunComparison& comparison);
/// Means by epoch, one line per group. A curve is named by its column in log.csv or, for held-out
/// images, by its metric: "top1" is "eval_top1". Empty: the main metric. Throws UsageError if no
/// run has values of it, naming the available curves.
[[nodiscard]] Chart comparison_chart(const RunComparison& comparison,
                                     const std::string& curve = {});

}  // namespace fovea
