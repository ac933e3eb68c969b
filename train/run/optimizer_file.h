// A file of an optimizer's moments and its number of steps, for training loops of one's own.
// run_state.h has the state of whole runs.
#pragma once

#include <filesystem>

#include "train/optim/optimizer.h"

namespace fovea {

/// Writes a safetensors file with state() and, as metadata, the kind and the steps done.
void save_optimizer(const std::filesystem::path& path, const Optimizer& optimizer);

/// Fills an optimizer of the same kind and parameters, which then goes on as the saved one would
/// have. Throws one Error that lists all differences; the optimizer is then unchanged.
void load_optimizer(const std::filesystem::path& path, Optimizer& optimizer);

}  // namespace fovea
