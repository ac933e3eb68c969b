// Several small results of a device in one answer.
#pragma once

#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// Tensors of one device and any float dtypes, on the CPU: it waits for the device once, however
/// many they are. Those that come from a device have the widest of their dtypes.
[[nodiscard]] std::vector<Tensor> read_together(const std::vector<Tensor>& tensors);

}  // namespace fovea
