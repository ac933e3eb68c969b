// Reading a weights file as a set of tensors under the official names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/formats/weights_file.h"

namespace fovea {

struct Checkpoint {
  TensorMap tensors;                 ///< under official names, see official_weights()
  Metadata metadata;                 ///< from safetensors files only
  std::vector<std::string> notes{};  ///< messages for the user about the file
  std::string settings = "{}";       ///< JSON object: settings that the file's names imply
};

/// `key` selects a dictionary as in read_weights(), a prefix of names ("module.base_encoder"), or
/// the one and then the other ("teacher.backbone"). Throws Error, starting with the path.
[[nodiscard]] Checkpoint read_checkpoint(const std::filesystem::path& path,
                                         const WeightsKey& key = {});

/// The metadata of a weights file, without its tensors; empty for formats without metadata.
[[nodiscard]] Metadata read_metadata(const std::filesystem::path& path);

}  // namespace fovea
