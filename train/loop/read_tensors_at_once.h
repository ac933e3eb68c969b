// Reading several small device tensors with a single synchronisation.
#pragma once

#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// Tensors of one device, one after the other in a single one of the widest of their dtypes.
struct JoinedTensors {
  Tensor values{};
  std::vector<Shape> shapes{};
};
[[nodiscard]] JoinedTensors joined(const std::vector<Tensor>& tensors);
/// Copies them to the CPU, where they keep that dtype.
[[nodiscard]] std::vector<Tensor> read(const JoinedTensors& tensors);

/// Copies tensors of one device, of any float dtypes, to the CPU. Waits for the device only once.
/// Tensors from a device are returned in the widest of their dtypes.
[[nodiscard]] std::vector<Tensor> read_tensors_at_once(const std::vector<Tensor>& tensors);

}  // namespace fovea
