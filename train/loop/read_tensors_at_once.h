// Reading several small device tensors with a single synchronisation.
#pragma once

#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// Copies tensors of one device, of any float dtypes, to the CPU. Waits for the device only once.
/// Tensors from a device are returned in the widest of their dtypes.
[[nodiscard]] std::vector<Tensor> read_tensors_at_once(const std::vector<Tensor>& tensors);

}  // namespace fovea
