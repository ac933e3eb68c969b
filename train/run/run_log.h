// The two log files of a run: log.csv, a row per epoch, and steps.jsonl, a line per log interval.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "train/run/task_info.h"
#include "train/run/timers.h"

namespace fovea {

/// A row of log.csv: epoch, train_loss, train_<part of the loss>, eval_<measure>, lr,
/// ema_<measure>, img_s, seconds; of a classifier the columns of timm's summary.csv, then ours.
/// What is absent is left empty.
struct EpochRow {
  std::int64_t epoch = 0;  ///< counted from 0
  double train_loss = 0;
  std::vector<double> train_parts{};  ///< in the order of TaskInfo::loss_parts, or empty
  Scores eval{};                      ///< of the held-out images
  double lr = 0;                      ///< of the epoch's last step
  Scores ema{};                       ///< as eval, of the averaged weights
  double img_s = 0;                   ///< training images per second
  double seconds = 0;                 ///< the epoch's time, with evaluation

  // Not in the file.
  TimeShares time{};            ///< of its training, since the start or resume
  std::optional<double> mfu{};  ///< see StepRow
};

/// A line of steps.jsonl. Values that are not finite become null.
struct StepRow {
  std::int64_t step = 0;   ///< optimizer steps done since the start of the run
  std::int64_t epoch = 0;  ///< counted from 0
  double loss = 0;         ///< mean over the interval
  std::vector<double> loss_parts{};
  double lr = 0;
  double img_s = 0;
  TimeShares time{};  ///< where the interval's seconds went
  std::optional<double> grad_norm;
  std::int64_t bad_images = 0;  ///< different ones since the program started; left out when 0
  std::optional<double> mfu{};  ///< part of the machine's best product rate, where that is known
};

class RunLog {
 public:
  /// How far a continued run had come when its state was saved.
  struct LoggedSoFar {
    std::int64_t epochs = 0;  ///< finished ones
    std::int64_t steps = 0;
  };
  /// Keeps the rows of earlier epochs and steps and drops what was logged after the saved state, so
  /// that the files end up as those of a run that was never interrupted. Throws Error when a file
  /// is no log of such a task or cannot be written.
  RunLog(const std::filesystem::path& folder, TaskInfo task)
      : RunLog(folder, std::move(task), LoggedSoFar{}) {}
  RunLog(const std::filesystem::path& folder, TaskInfo task, LoggedSoFar done);

  /// Rewrites log.csv atomically: it never holds half a row.
  void epoch(const EpochRow& row);
  /// Appends and hands the line to the system.
  void step(const StepRow& row);
  /// All rows so far, also those from before a resume: what the curves are drawn from.
  [[nodiscard]] const std::vector<EpochRow>& epochs() const { return epochs_; }
  /// The last line that a continued run kept, without its times.
  [[nodiscard]] const std::optional<StepRow>& last_kept_step() const { return last_kept_step_; }

 private:
  std::filesystem::path csv_path_;
  TaskInfo task_;
  std::vector<EpochRow> epochs_;
  std::optional<StepRow> last_kept_step_;
  AppendFile steps_;
};

/// The text of log.csv. Throws where a row holds other numbers than such a task's.
[[nodiscard]] std::string format_epochs(const TaskInfo& task, const std::vector<EpochRow>& rows);
/// And back; parts of the loss may be missing. `name` stands for the path in errors.
[[nodiscard]] std::vector<EpochRow> parse_epochs(const TaskInfo& task, std::string_view csv,
                                                 const std::string& name);
/// One line of steps.jsonl, with its end of line.
[[nodiscard]] std::string format_step(const TaskInfo& task, const StepRow& row);
/// And back, without its times; nothing where it is no such line.
[[nodiscard]] std::optional<StepRow> parse_step(const TaskInfo& task, std::string_view line);

}  // namespace fovea
