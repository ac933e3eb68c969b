// Sums that a walk of backward() puts off to its end. The gradients of biases and norms are sums
// over rows, whose parts are there at once; on a GPU the last round of all these sums is one
// launch. LateSums, the list of a walk, is in node.h.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace fovea {

/// Whether late_sum() puts off a sum on this device: in a walk of backward(), on CUDA.
[[nodiscard]] bool sums_late(Device device);
/// The sum of the rows of parts [count, columns], f64 or f32, where sums_late(), as a tensor of
/// this shape. Its values are written later: a derivative may only return it as the gradient of an
/// input.
[[nodiscard]] Tensor late_sum(const Tensor& parts, const Shape& shape);
[[nodiscard]] inline Tensor late_sum(const Tensor& parts) {
  return late_sum(parts, {parts.size(1)});
}

/// For the derivative of the op that made a tensor: the pass that writes its gradient `dx` [...,
/// columns] has also written `parts`, whose sum is dx's over all rows. Without effect where sums
/// are not late.
void keep_parts(const Tensor& dx, const Tensor& parts);
/// What keep_parts() got for dx in this walk; undefined if dx was changed since.
[[nodiscard]] Tensor kept_parts(const Tensor& dx);

/// Rows that a derivative adds for one row of `parts`: few where there are few, so that enough
/// threads work on them.
[[nodiscard]] inline std::int64_t rows_a_part(std::int64_t rows) {
  return rows < std::int64_t{1} << 15 ? 16 : 64;
}

}  // namespace fovea
