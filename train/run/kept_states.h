// The states that a run keeps besides state.safetensors, see --state-hist.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <vector>

#include "train/run/run_paths.h"

namespace fovea {

struct KeptState {
  std::int64_t step = 0;
  std::filesystem::path path;
};

/// Those in the run's folder, up to a step, in ascending order. Other files there do not count.
[[nodiscard]] std::vector<KeptState> kept_states(
    const RunPaths& run, std::int64_t last = std::numeric_limits<std::int64_t>::max());

/// Whether a path is that of a kept state.
[[nodiscard]] bool is_kept_state(const std::filesystem::path& path);

}  // namespace fovea
