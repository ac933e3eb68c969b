// Weight files of all formats: safetensors; torch.save (.pth, .pt, .bin), which the papers' own
// checkpoints use; numpy.savez (.npz), JAX's; and the index of a set of files. The content
// determines the format; if it matches none, the file name does.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/formats/safetensors.h"
#include "engine/formats/weights_key.h"

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

/// `key` selects a dictionary of tensors in a torch.save file; the others contain a single, unnamed
/// set. The files of an index are read as one set, see sharded.h. Throws Error, starting with the
/// path, on malformed input.
[[nodiscard]] WeightsFile read_weights(const std::filesystem::path& path,
                                       const WeightsKey& key = {});
[[nodiscard]] WeightsList list_weights(const std::filesystem::path& path,
                                       const WeightsKey& key = {});

}  // namespace fovea
