// Copies to a device that overlap with its computation.
#pragma once

#include "engine/tensor.h"

namespace fovea {

/// x on `device`, copied on a separate stream while the device continues with the work already
/// enqueued. Ops enqueued from here on run after the copy. On the CPU: x itself.
[[nodiscard]] Tensor upload(const Tensor& x, Device device);

}  // namespace fovea
