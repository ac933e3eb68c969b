// Keeps a run on disk: logs, TensorBoard events, curves and checkpoints in its folder.
#pragma once

#include <optional>
#include <string>

#include "train/checkpoint.h"
#include "train/events.h"
#include "train/run_log.h"

namespace fovea {

class RunRecorder {
 public:
  /// Continues the logs in `folder` from `progress`, dropping what came after it.
  RunRecorder(const std::filesystem::path& folder, WeightsInfo info, const Progress& progress);

  void step(const StepRow& row);
  /// Logs the epoch, draws the curves, writes last, best and their averaged twins, and at the very
  /// end the state: a run that dies in between repeats the epoch's end.
  void epoch(const EpochRow& row, const TrainState& state);
  void save(const TrainState& state);
  /// Between two epochs' ends: the last weights, then the state.
  void stop(const TrainState& state);

  [[nodiscard]] const RunPaths& paths() const { return paths_; }

 private:
  /// Writes last, and best where this epoch is the best; the same for the averages.
  void save_weights_of(const EpochRow& row, const TrainState& state);
  void write_weights(const std::string& which, const TrainState& state, std::optional<double> top1);

  RunPaths paths_;
  WeightsInfo info_;
  RunLog log_;
  EventWriter events_;
};

}  // namespace fovea
