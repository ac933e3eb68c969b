// Files of weights, of either kind: safetensors, or what torch.save writes (.pth, .pt, .bin), which
// the papers' own checkpoints are. The first bytes tell which it is, and where they are neither's
// the name does.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "formats/weights_key.h"

namespace fovea {

using TensorMap = std::map<std::string, Tensor>;

/// What a file holds, without its data.
struct WeightsList {
  std::vector<StoredEntry> entries;
  std::vector<std::string> others;  ///< names beside them that are no tensors, which are left out
  Metadata metadata;                ///< of safetensors alone
  std::string note{};               ///< where a key was given that does not concern the file
};

struct WeightsFile {
  TensorMap tensors;
  Metadata metadata;   ///< of safetensors alone
  std::string note{};  ///< where a key was given that does not concern the file
};

/// `key` says which dictionary of tensors of a file of torch.save is meant; safetensors hold one
/// set and no names of sets. Throws Error, beginning with the path, on whatever is malformed.
[[nodiscard]] WeightsFile read_weights(const std::filesystem::path& path,
                                       const WeightsKey& key = {});
[[nodiscard]] WeightsList list_weights(const std::filesystem::path& path,
                                       const WeightsKey& key = {});

}  // namespace fovea
