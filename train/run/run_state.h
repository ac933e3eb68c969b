// state.safetensors: all that a run needs to go on bit for bit.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/model.h"
#include "optim/ema.h"
#include "optim/optimizer.h"
#include "train/run/pending_file.h"
#include "train/run/run_progress.h"

namespace fovea {

/// What is saved together. Pointers are to the run's own objects; `ema` may be null.
struct TrainState {
  Model* model = nullptr;
  Optimizer* optimizer = nullptr;               ///< of the first group of parameters
  std::map<std::string, Optimizer*> further{};  ///< of the other groups, by name
  Ema* ema = nullptr;
  Progress progress;
  std::string config;  ///< JSON of the run's settings
  std::string images;  ///< JSON of its ImageLists; "": it does not say
};

/// What a state file says beside its tensors.
struct SavedProgress {
  Progress progress;
  std::string images;  ///< as TrainState's
};

/// Names of its tensors, as in the file, that hold a NaN or an infinity.
[[nodiscard]] std::vector<std::string> nonfinite_tensors(const TrainState& state);

/// One file: param/ buffer/ m/ v/ ema/ and metadata.
[[nodiscard]] PendingFile run_state_file(const std::filesystem::path& path,
                                         const TrainState& state);
/// Fills model, optimizer, averages and progress. Throws, with nothing changed, unless the file is
/// whole, a state of this very model, optimizer and kind of averages, and `accept` takes what it
/// says (by not throwing); that may move the progress to another place, to go on from there.
void load_run_state(const std::filesystem::path& path, TrainState& state,
                    const std::function<void(SavedProgress&)>& accept = {});
/// The settings that a state was saved with, as JSON.
[[nodiscard]] std::string read_state_config(const std::filesystem::path& path);

}  // namespace fovea
