// Copies to a device that overlap with its computation.
#pragma once

#include <span>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// The tensors on `device`, copied on a separate stream while the device continues with the work
/// already enqueued; ops enqueued from here on run after the copy. Those on the CPU travel
/// together: as one copy, into one block of memory that lives as long as any of them. Not recorded
/// on the tape. To the CPU: the tensors themselves.
[[nodiscard]] std::vector<Tensor> upload(std::span<const Tensor> tensors, Device device);
/// The same for one tensor.
[[nodiscard]] Tensor upload(const Tensor& x, Device device);

}  // namespace fovea
