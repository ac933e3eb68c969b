// Copies to a device that go on beside what it computes.
#pragma once

#include "engine/tensor.h"

namespace fovea {

/// x on `device`, copied on a stream of its own: while the device still works on what it was asked
/// for before. Ops that are asked for from now on come after the copy. On the CPU: x itself.
[[nodiscard]] Tensor upload(const Tensor& x, Device device);

}  // namespace fovea
