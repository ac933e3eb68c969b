// Walking several tensors of one shape in step, whatever their strides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/parallel.h"
#include "engine/shape.h"

namespace fovea {

/// Up to five operands of one shape, with axes of size 1 dropped and neighbours merged where every
/// operand's strides allow it. A contiguous tensor becomes one axis.
template <std::size_t N>
struct StridedWalk {
  Shape shape;
  std::array<Strides, N> strides;

  StridedWalk(const Shape& full, const std::array<Strides, N>& operands) {
    for (int axis = 0; axis < full.rank(); ++axis) append(full, operands, axis);
    if (shape.rank() == 0) {
      shape.push_back(1);
      for (Strides& s : strides) s.push_back(0);
    }
  }

  [[nodiscard]] std::int64_t inner() const { return shape[-1]; }
  [[nodiscard]] std::int64_t rows() const { return inner() == 0 ? 0 : shape.numel() / inner(); }

  /// Offsets, in elements, of row `row` (all axes but the last) for each operand.
  [[nodiscard]] std::array<std::int64_t, N> offsets(std::int64_t row) const {
    std::array<std::int64_t, N> result{};
    for (int axis = shape.rank() - 2; axis >= 0; --axis) {
      const std::int64_t position = row % shape[axis];
      row /= shape[axis];
      for (std::size_t k = 0; k < N; ++k) result[k] += position * strides[k][axis];
    }
    return result;
  }

 private:
  void append(const Shape& full, const std::array<Strides, N>& operands, int axis) {
    if (full[axis] == 1) return;
    bool merge = shape.rank() > 0;
    for (std::size_t k = 0; merge && k < N; ++k) {
      merge = strides[k][-1] == operands[k][axis] * full[axis];
    }
    if (!merge) {
      shape.push_back(full[axis]);
      for (std::size_t k = 0; k < N; ++k) strides[k].push_back(operands[k][axis]);
      return;
    }
    shape[-1] *= full[axis];
    for (std::size_t k = 0; k < N; ++k) strides[k][-1] = operands[k][axis];
  }
};

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

/// The axes of a tensor that is summed to `shape` (which broadcasts to it): those that stay and
/// those that are summed away.
struct SplitAxes {
  Shape kept, reduced;
  Strides kept_strides, reduced_strides;

  SplitAxes(const Shape& full, const Strides& strides, const Shape& shape) {
    for (int axis = 0; axis < full.rank(); ++axis) {
      const int own = axis - full.rank() + shape.rank();  // the same axis, counted from the end
      const bool keep = own >= 0 && shape[own] == full[axis];
      (keep ? kept : reduced).push_back(full[axis]);
      (keep ? kept_strides : reduced_strides).push_back(strides[axis]);
    }
  }
};

/// Calls body(offsets, count) for runs along the last axis that together cover all elements, in
/// parallel over fixed chunks. The runs of an operand start at offsets[k] and step by
/// walk.strides[k][-1].
template <std::size_t N, class Body>
void for_each_run(const StridedWalk<N>& walk, Body&& body) {
  constexpr std::int64_t kChunk = 1 << 15;  // elements: enough to pay for waking a thread
  const std::int64_t inner = walk.inner(), rows = walk.rows();
  if (rows == 1) {
    parallel_for(inner, kChunk, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, N> at{};
      for (std::size_t k = 0; k < N; ++k) at[k] = begin * walk.strides[k][-1];
      body(at, end - begin);
    });
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(inner, 1));
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(walk.offsets(row), inner);
  });
}

}  // namespace fovea
