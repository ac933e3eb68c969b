// The states of a run: the last one, that before an evaluation, and those of --state-hist.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
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
/// The folder of the run to which a state belongs.
[[nodiscard]] std::filesystem::path run_of_state(const std::filesystem::path& path);

/// The path of the run's last state: that before an evaluation unless it is damaged,
/// state.safetensors or, if both are missing, the last one kept; "" if there is none.
[[nodiscard]] std::filesystem::path last_state(const RunPaths& run);

/// The newest state of the run that can be read as a whole; "" if there is none. Throws if one
/// cannot be opened.
[[nodiscard]] std::filesystem::path readable_state(const RunPaths& run);

/// The state itself or, if it was one before an evaluation and is gone, the later one that the run
/// at work in its folder has written instead.
[[nodiscard]] std::filesystem::path present_state(const std::filesystem::path& state);

/// The step of the state before an evaluation; empty if there is none, or a damaged one. Reads the
/// whole file.
[[nodiscard]] std::optional<std::int64_t> unevaluated_step(const RunPaths& run);

/// The step of a state, which needs only the file's header. Throws Error, naming the file.
[[nodiscard]] std::int64_t saved_step(const std::filesystem::path& state);

}  // namespace fovea
