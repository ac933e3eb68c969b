// The weights files in a run's folder: which of them are there, and of which epoch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "train/run/run_paths.h"

namespace fovea {

/// The weights in the folder of a run: last, best, their averages and those of kept epochs, in the
/// order of names. Links count even if their target is missing.
[[nodiscard]] std::vector<std::filesystem::path> weights_files(const RunPaths& run);

/// The epoch in a file that weights_file() wrote; empty if it is missing or cannot be read.
[[nodiscard]] std::optional<std::int64_t> epoch_of_weights(const std::filesystem::path& path);

/// Copies weights with all their metadata, as one atomic write.
void copy_weights(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace fovea
