// Weights in the format of torch.save.
#pragma once

#include <map>
#include <string>

#include "engine/tensor.h"
#include "tests/support/torch_bytes.h"

namespace fovea::tests {

/// A state_dict of f32 and i64 tensors. Appends their bytes to `storages`, with consecutive keys.
inline std::string torch_state(const std::map<std::string, Tensor>& tensors, PyStorages& storages) {
  PyItems items;
  for (const auto& [name, given] : tensors) {
    const Tensor tensor = given.contiguous();
    PyTensor made;
    made.key = std::to_string(storages.size());
    made.type = tensor.dtype() == DType::i64 ? "LongStorage" : "FloatStorage";
    made.count = tensor.numel();
    const Strides strides = contiguous_strides(tensor.shape());
    made.sizes.assign(tensor.shape().begin(), tensor.shape().end());
    made.strides.assign(strides.begin(), strides.end());
    storages[made.key] = {reinterpret_cast<const char*>(tensor.raw()),
                          static_cast<std::size_t>(tensor.byte_count())};
    items.emplace_back(name, made.bytes());
  }
  return py_dict(items);
}

/// A checkpoint as training scripts write it: {"model": ..., "epoch": 3, "args":
/// argparse.Namespace()}.
inline std::string torch_checkpoint(const std::map<std::string, Tensor>& tensors) {
  PyStorages storages;
  const std::string model = torch_state(tensors, storages);
  return torch_zip(py_dict({{"model", model},
                            {"epoch", "K\x03"},
                            {"args", py_global("argparse", "Namespace") + ")\x81}b"}}),
                   storages);
}

}  // namespace fovea::tests
