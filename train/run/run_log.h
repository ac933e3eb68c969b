// The log files of a run: log.csv with one row per epoch, steps.jsonl with one line per log
// interval and per fingerprint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/files.h"
#include "train/run/task_info.h"
#include "train/run/timers.h"

namespace fovea {

/// A row of log.csv: epoch, train_loss, train_<part of the loss>, eval_<metric>, lr, ema_<metric>,
/// img_s, seconds. For classifiers, the columns of timm's summary.csv precede ours. Missing values
/// and NaN are empty.
struct EpochRow {
  std::int64_t epoch = 0;             ///< counted from 0
  double train_loss = 0;              ///< NaN: all steps were skipped
  std::vector<double> train_parts{};  ///< in the order of TaskInfo::loss_parts, or empty
  Scores eval{};                      ///< scores on held-out images; empty: not evaluated
  double lr = 0;                      ///< learning rate of the epoch's last step
  Scores ema{};                       ///< scores of the averaged weights on held-out images
  double img_s = 0;                   ///< training images per second
  double seconds = 0;                 ///< duration of the epoch, including evaluation

  // The following are not in the file.
  TimeShares time{};            ///< training time by stage, since the start or resume
  std::optional<double> mfu{};  ///< see StepRow
};

/// A line of steps.jsonl. Non-finite values become null.
struct StepRow {
  std::int64_t step = 0;   ///< optimizer steps done since the start of the run
  std::int64_t epoch = 0;  ///< counted from 0
  double loss = 0;         ///< mean over the interval; NaN: all its steps were skipped
  std::vector<double> loss_parts{};
  double lr = 0;
  double img_s = 0;
  TimeShares time{};  ///< the interval's seconds by stage
  std::optional<double> grad_norm;
  std::int64_t bad_images = 0;  ///< distinct broken images since the program started; omitted if 0
  /// Rate of the steps' products as a fraction of the measured one, if known; see EpochMeter.
  std::optional<double> mfu{};
  /// Fingerprint of the run at this step, see FingerprintChain; omitted if "".
  std::string fingerprint{};
};

/// A line of steps.jsonl with a fingerprint alone, at the end of an epoch or of the run.
struct FingerprintRow {
  std::int64_t step = 0, epoch = 0;  ///< as in StepRow
  std::string fingerprint{};
  bool ends_run = false;  ///< a run that continues drops the line
};

class RunLog {
 public:
  /// Progress of a resumed run when its state was saved.
  struct LoggedSoFar {
    std::int64_t epochs = 0;  ///< number of finished epochs
    std::int64_t steps = 0;
  };
  /// Keeps the rows of earlier epochs and steps and drops those logged after the saved state, so
  /// the files end up as in an uninterrupted run. Throws Error if a file is not a log of such a
  /// task or cannot be written.
  RunLog(const std::filesystem::path& folder, TaskInfo task)
      : RunLog(folder, std::move(task), LoggedSoFar{}) {}
  RunLog(const std::filesystem::path& folder, TaskInfo task, LoggedSoFar done);

  /// Rewrites log.csv atomically, so it never contains a partial row.
  void epoch(const EpochRow& row);
  /// Appends a line and flushes it to the operating system.
  void step(const StepRow& row);
  /// The same for a fingerprint, unless a kept line has it.
  void fingerprint(const FingerprintRow& row);
  /// All rows, including those from before a resume, for drawing the curves.
  [[nodiscard]] const std::vector<EpochRow>& epochs() const { return epochs_; }
  /// The last line with losses kept by a resumed run, without its times.
  [[nodiscard]] const std::optional<StepRow>& last_kept_step() const { return last_kept_step_; }

 private:
  std::filesystem::path csv_path_;
  TaskInfo task_;
  std::vector<EpochRow> epochs_;
  std::optional<StepRow> last_kept_step_;
  std::int64_t last_kept_fingerprint_ = -1;  ///< step of the last kept line if it has no losses
  AppendFile steps_;
};

/// Copies the logs of a run, if there are any, to the folder of the run that continues it.
void copy_logs(const std::filesystem::path& from, const std::filesystem::path& to);

/// A training loss for people; a dash if it is not known.
[[nodiscard]] std::string loss_text(double loss, int decimals);
/// Formats log.csv. Throws if a row does not match the task.
[[nodiscard]] std::string format_epochs(const TaskInfo& task, const std::vector<EpochRow>& rows);
/// Parses log.csv; loss parts and recent metrics may be missing, and metrics may have their former
/// names. `name` stands for the path in errors.
[[nodiscard]] std::vector<EpochRow> parse_epochs(const TaskInfo& task, std::string_view csv,
                                                 const std::string& name);
/// Formats one line of steps.jsonl, with its newline.
[[nodiscard]] std::string format_step(const TaskInfo& task, const StepRow& row);
/// Parses a line, without its times; empty if it is not such a line.
[[nodiscard]] std::optional<StepRow> parse_step(const TaskInfo& task, std::string_view line);

}  // namespace fovea
