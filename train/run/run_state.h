// state.safetensors: everything needed to resume a run bit for bit.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "models/model.h"
#include "train/optim/ema.h"
#include "train/optim/optimizer.h"
#include "train/run/pending_file.h"
#include "train/run/run_progress.h"

namespace fovea {

/// What is saved together: the run's own objects, and handles to their tensors. A sharded optimizer
/// has copies of whole tensors instead, which only the first process has.
struct TrainState {
  Model* model = nullptr;
  Optimizer* optimizer = nullptr;
  std::map<std::string, Tensor> moments{};   ///< see Optimizer::state()
  std::map<std::string, Tensor> averages{};  ///< see Ema::averages(); empty without EMA
  Progress progress;
  std::string config;  ///< JSON of the run's settings
  std::string images;  ///< JSON of its ImageLists; "": not recorded
};

/// The content of a state file apart from its tensors.
struct SavedProgress {
  Progress progress;
  std::string images;  ///< as in TrainState
  std::string isa;     ///< the CPU's instruction set; "": another device, or not recorded
};

/// Names in the file of the tensors with a NaN or an infinity.
[[nodiscard]] std::vector<std::string> nonfinite_tensors(const TrainState& state);

/// One file with param/, buffer/, m/, v/, ema/ and metadata.
[[nodiscard]] PendingFile run_state_file(const std::filesystem::path& path,
                                         const TrainState& state);
/// Loads model, optimizer, averages and progress. Throws, without changing anything, unless the
/// file is complete, belongs to this model, optimizer and kind of averages, and `accept` does not
/// throw. `accept` may change the progress, to resume from another place.
void load_run_state(const std::filesystem::path& path, TrainState& state,
                    const std::function<void(SavedProgress&)>& accept = {});
/// Copies the first process's tensors and progress to all others, whose state has the same tensors.
void broadcast_run_state(TrainState& state, Communicator& processes);
/// The settings in a saved state, as JSON.
[[nodiscard]] std::string read_state_config(const std::filesystem::path& path);

}  // namespace fovea
