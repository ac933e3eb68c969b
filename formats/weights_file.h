// Weight files of either format: safetensors, or torch.save (.pth, .pt, .bin), which the papers'
// own checkpoints use. The first bytes determine the format; if they match neither, the file name
// does.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "formats/weights_key.h"

namespace fovea {

using TensorMap = std::map<std::string, Tensor>;

/// The content of a file without tensor data.
struct WeightsList {
  std::vector<StoredEntry> entries;
  std::vector<std::string> others;  ///< names of values that are not tensors; they are skipped
  Metadata metadata;                ///< from safetensors files only
  std::string note{};               ///< set when a key was given that does not apply to the file
};

struct WeightsFile {
  TensorMap tensors;
  Metadata metadata;   ///< from safetensors files only
  std::string note{};  ///< set when a key was given that does not apply to the file
};

/// `key` selects a dictionary of tensors in a torch.save file; a safetensors file contains a
/// single, unnamed set. Throws Error, starting with the path, on malformed input.
[[nodiscard]] WeightsFile read_weights(const std::filesystem::path& path,
                                       const WeightsKey& key = {});
[[nodiscard]] WeightsList list_weights(const std::filesystem::path& path,
                                       const WeightsKey& key = {});

}  // namespace fovea
