// Files of weights, of either kind: safetensors, or what torch.save writes (.pth, .pt, .bin), which
// the papers' own checkpoints are. The first bytes tell which it is, and where they are neither's
// the name does.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/safetensors.h"

namespace fovea {

using TensorMap = std::map<std::string, Tensor>;

/// What a file holds, without its data.
struct WeightsList {
  std::vector<StoredEntry> entries;
  std::vector<std::string> others;  ///< names beside them that are no tensors, which are left out
  Metadata metadata;                ///< of safetensors alone
};

struct WeightsFile {
  TensorMap tensors;
  Metadata metadata;  ///< of safetensors alone
};

/// `key` says which dictionary of tensors of a file of torch.save is meant, as TorchDictionary has
/// it; empty: the only one. Throws Error, beginning with the path, on whatever is malformed, and on
/// a key for safetensors, which have none.
[[nodiscard]] WeightsFile read_weights(const std::filesystem::path& path,
                                       const std::string& key = {});
[[nodiscard]] WeightsList list_weights(const std::filesystem::path& path,
                                       const std::string& key = {});

}  // namespace fovea
