// Moving, converting and accumulating data, without the tape. The engine itself needs no other
// kernels from a device; mathematics lives in ops/.
#pragma once

#include "engine/tensor.h"

namespace fovea {

/// destination[...] = source[...], broadcasting and converting; devices may differ.
void copy_into(const Tensor& destination, const Tensor& source);
/// destination[...] += source[...], equal shapes, any float dtypes; sums in the wider of the two.
void add_into(const Tensor& destination, const Tensor& source);
/// Undoes a broadcast: sums x, in a fixed order, over the axes along which `shape` was repeated.
[[nodiscard]] Tensor sum_to(const Tensor& x, const Shape& shape);
/// destination[...] = value, converted.
void fill(const Tensor& destination, double value);
/// Whether all elements are finite (always true for integers).
[[nodiscard]] bool all_finite(const Tensor& x);

}  // namespace fovea
