// Positions in strided tensors, and the axes that a kernel walks through several of them together.
#pragma once

#include <array>
#include <cstdint>

#include "engine/kernels.h"
#include "engine/shape.h"

namespace fovea {

/// The axes of N operands of equal shape. Axes of size 1 are dropped and neighbours are merged
/// where the strides of all operands allow it; contiguous tensors end up with one axis.
template <std::size_t N>
[[nodiscard]] StridedAxes<N> merged_axes(const Shape& shape,
                                         const std::array<Strides, N>& strides) {
  static_assert(StridedAxes<N>::kMaxRank == Shape::kMaxRank);
  StridedAxes<N> merged;
  merged.count = shape.numel();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t size = shape[axis];
    if (size == 1) continue;
    int last = merged.rank - 1;
    bool merge = last >= 0;
    for (std::size_t k = 0; merge && k < N; ++k) {
      merge = merged.strides[k][last] == strides[k][axis] * size;
    }
    if (!merge) {
      last = merged.rank++;
      merged.shape[last] = 1;
    }
    merged.shape[last] *= size;
    for (std::size_t k = 0; k < N; ++k) merged.strides[k][last] = strides[k][axis];
  }
  if (merged.rank == 0) merged.shape[merged.rank++] = 1;
  return merged;
}

/// Offset, in elements, of a row-major position.
[[nodiscard]] inline std::int64_t offset_at(const Shape& shape, const Strides& strides,
                                            std::int64_t position) {
  std::int64_t offset = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    offset += position % shape[axis] * strides[axis];
    position /= shape[axis];
  }
  return offset;
}

}  // namespace fovea
