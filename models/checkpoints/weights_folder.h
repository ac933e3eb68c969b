// The weights in a folder in hub layout, or of a run.
#pragma once

#include <filesystem>
#include <optional>

namespace fovea {

/// The path itself unless it is a folder; then the weights in it: model.safetensors, or its index
/// model.safetensors.index.json if the hub keeps them in several files; best.safetensors or
/// last.safetensors of a run; pytorch_model.bin or its index. The first one that exists counts.
/// Throws Error when the folder contains none.
[[nodiscard]] std::filesystem::path weights_in(const std::filesystem::path& path);

/// The weights in a folder under a name of the hubs, not of a run; empty if there are none.
[[nodiscard]] std::optional<std::filesystem::path> find_hub_weights(
    const std::filesystem::path& folder);

}  // namespace fovea
