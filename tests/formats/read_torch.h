// Reads a file of torch.save that is in memory.
#pragma once

#include <map>
#include <string>

#include "engine/formats/torch/torch_file.h"

namespace fovea::tests {

using Tensors = std::map<std::string, Tensor>;

/// The tensors of the dictionary at `key`.
inline Tensors read_torch(const std::string& bytes, const std::string& key = "") {
  return TorchDictionary(MemoryBytes(bytes, "file"), key, "file").read();
}

}  // namespace fovea::tests
