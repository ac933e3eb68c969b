// Records a run in its folder: logs, TensorBoard events, curves and checkpoints.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/fields.h"
#include "engine/base/notices.h"
#include "engine/formats/events.h"
#include "train/run/run_log.h"
#include "train/run/run_paths.h"
#include "train/run/run_state.h"
#include "train/run/weights_info.h"
#include "train/run/writer.h"

namespace fovea {

struct ShownBatch;

struct RecorderOptions {
  std::int64_t history = 0;   ///< number of best checkpoints to keep
  bool asynchronous = false;  ///< write checkpoints in the background
  std::int64_t states = 0;    ///< number of states to keep besides the last
};

/// `options` must outlive the fields.
void add_fields(Fields& fields, RecorderOptions& options);

class RunRecorder {
 public:
  /// Continues the logs in `folder` from `progress` and drops everything logged after it, also in
  /// TensorBoard, where the points of this very step are written again.
  RunRecorder(const std::filesystem::path& folder, TaskInfo task, WeightsInfo info,
              const Progress& progress, RecorderOptions options = {});

  /// Of a run that continues from `state`: writes the weights again that are missing or older, as
  /// after a kill between a state and its weights. Those of earlier epochs are taken from `former`,
  /// the folder of the state. Returns messages about logs and weights that are lost.
  [[nodiscard]] Notices resume(const TrainState& state, const RunPaths& former);
  void step(const StepRow& row);
  /// Logs the epoch, draws the curves and writes the state, then last and best weights and their
  /// averages. If the process dies before the state is there, the end of the epoch is repeated on
  /// resume; if it dies later, resume() writes the weights. This state, and that of save(), is also
  /// kept under its step.
  void epoch(const EpochRow& row, const TrainState& state);
  void save(const TrainState& state);
  /// Between the ends of two epochs: writes the state, then the last weights.
  void stop(const TrainState& state);
  /// Writes the state beside the last one, until it is evaluated. The functions above remove it
  /// when they have written a later one.
  void before_evaluation(const TrainState& state);
  /// Removes the state before an evaluation: it must not be resumed.
  void refuse_unevaluated();
  /// After an error: the state before an evaluation, if there is one, becomes the last. Returns its
  /// path, or "". Never throws: if it fails, a resume finds the state where it is.
  std::filesystem::path keep_unevaluated() noexcept;
  /// Writes the images of a batch as one picture.
  void first_images(const ShownBatch& batch);
  /// Writes the picture of the model's output on held-out images after an epoch.
  void picture(std::int64_t epoch, const Image& picture) const;
  /// Waits for pending files and throws if writing failed. Call it at the end.
  void finish();
  /// Throws, naming the file, if a file written by this run is missing.
  void require_files() const;

  [[nodiscard]] const RunPaths& paths() const { return paths_; }

 private:
  using Files = std::vector<PendingFile>;
  using Paths = std::vector<std::filesystem::path>;

  /// Files for last, and for best if this epoch is the best; also for the averages.
  [[nodiscard]] Files weights_of(const EpochRow& row, const TrainState& state) const;
  /// Files for last, of an epoch that has not ended.
  [[nodiscard]] Files unfinished_weights(const TrainState& state) const;
  [[nodiscard]] PendingFile weights(const std::string& which, const TrainState& state,
                                    std::int64_t epoch, const Scores& scores) const;
  /// Logs the fingerprint at the state's step, unless the step's own line has it.
  void log_fingerprint(const TrainState& state, std::int64_t epoch, bool ends_run);
  void show(const StepRow& row);
  void show(const EpochRow& row, std::int64_t step);
  void show_again(const Progress& progress);
  void show_scores(const std::string& group, const Scores& scores, std::int64_t step);
  /// The state's file, with a copy under its step if such copies are kept. `obsolete` receives
  /// those that are not kept any longer.
  [[nodiscard]] PendingFile kept_state(const TrainState& state, Paths& obsolete);
  /// The epochs with weights to keep.
  [[nodiscard]] std::vector<std::int64_t> kept_epochs() const;
  /// The weights of epochs that are no longer among the best.
  [[nodiscard]] Paths dropped_epochs() const;
  /// Writes a state and weights, in this order, then removes the obsolete files and the state
  /// before an evaluation.
  void save_files(Files files, Paths obsolete = {});
  /// Writes files, then removes the obsolete ones.
  void write(Files files, const Paths& obsolete = {});
  /// Takes over the state before an evaluation from which the run continues; removes another one.
  void find_unevaluated(const Progress& progress);
  /// Copies weights of an earlier epoch from another file that has them, unless they are there.
  /// Returns false if no file has them.
  [[nodiscard]] bool find_weights(const std::filesystem::path& path, std::int64_t epoch,
                                  const Paths& others) const;

  RunPaths paths_;
  TaskInfo task_;
  WeightsInfo info_;
  RecorderOptions options_;
  RunLog log_;
  EventWriter events_;
  std::vector<std::int64_t> kept_steps_;       ///< of kept states, in ascending order
  std::set<std::filesystem::path> written_{};  ///< weights and state files that should exist
  std::optional<std::int64_t> unevaluated_;    ///< step of the state before an evaluation
  std::unique_ptr<BackgroundWriter> writer_;   ///< null: files are written immediately
};

/// The `count` best epochs in ascending order. Equal scores are ranked by the smaller loss, then by
/// the earlier epoch.
[[nodiscard]] std::vector<std::int64_t> best_epochs(const TaskInfo& task,
                                                    const std::vector<EpochRow>& rows,
                                                    std::int64_t count);

}  // namespace fovea
