// Keeps a run on disk: logs, TensorBoard events, curves and checkpoints in its folder.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "formats/events.h"
#include "train/run/run_log.h"
#include "train/run/run_paths.h"
#include "train/run/run_state.h"
#include "train/run/weights_info.h"
#include "train/run/writer.h"

namespace fovea {

struct RecorderOptions {
  std::int64_t history = 0;   ///< epochs whose weights are kept: the best ones
  bool asynchronous = false;  ///< write checkpoints while training goes on
};

/// `options` must live as long as the fields are used.
void add_fields(Fields& fields, RecorderOptions& options);

class RunRecorder {
 public:
  /// Continues the logs in `folder` from `progress`, dropping what came after it. So does
  /// TensorBoard: its points of that very step are written again.
  RunRecorder(const std::filesystem::path& folder, TaskInfo task, WeightsInfo info,
              const Progress& progress, RecorderOptions options = {});

  void step(const StepRow& row);
  /// Logs the epoch, draws the curves, writes last, best and their averaged twins, and at the very
  /// end the state: a run that dies in between repeats the epoch's end.
  void epoch(const EpochRow& row, const TrainState& state);
  void save(const TrainState& state);
  /// Between two epochs' ends: the last weights, then the state.
  void stop(const TrainState& state);
  /// The images of a batch as one picture.
  void first_images(const Tensor& images);
  /// What the model made of held-out images after an epoch.
  void picture(std::int64_t epoch, const Image& picture) const;
  /// Waits for files that are still being written, and throws what went wrong with them. To be
  /// called at the end.
  void finish();
  /// Throws, naming it, where a file that this run wrote is no longer there.
  void require_files() const;

  [[nodiscard]] const RunPaths& paths() const { return paths_; }

 private:
  using Files = std::vector<PendingFile>;

  /// last, and best where this epoch is the best; the same for the averages.
  [[nodiscard]] Files weights_of(const EpochRow& row, const TrainState& state) const;
  [[nodiscard]] PendingFile weights(const std::string& which, const TrainState& state,
                                    std::int64_t epoch, const Scores& scores) const;
  void show(const StepRow& row);
  void show(const EpochRow& row, std::int64_t step);
  void show_again(const Progress& at);
  void show_scores(const std::string& group, const Scores& scores, std::int64_t step);
  /// The epochs whose weights should be there.
  [[nodiscard]] std::vector<std::int64_t> kept_epochs() const;
  void write(Files files);

  RunPaths paths_;
  TaskInfo task_;
  WeightsInfo info_;
  RecorderOptions options_;
  RunLog log_;
  EventWriter events_;
  std::set<std::filesystem::path> written_{};  ///< weights and state that should be there
  std::unique_ptr<BackgroundWriter> writer_;   ///< null: files are written at once
};

/// The `count` best epochs, of equal scores those with the smaller loss, then the earlier ones;
/// rising.
[[nodiscard]] std::vector<std::int64_t> best_epochs(const TaskInfo& task,
                                                    const std::vector<EpochRow>& rows,
                                                    std::int64_t count);

}  // namespace fovea
