// Moving, converting and accumulating data, without the tape. These are all the kernels that the
// engine itself needs from a device; mathematics lives in ops/.
#pragma once

#include "engine/tensor.h"

namespace fovea {

/// destination[...] = source[...], broadcasting and converting; devices may differ.
void copy_into(const Tensor& destination, const Tensor& source);
/// destination[...] += source[...], equal shapes, any float dtypes; sums in the wider of the two.
void add_into(const Tensor& destination, const Tensor& source);
/// Undoes a broadcast: sums x over the axes along which `shape` was repeated, in a fixed order.
[[nodiscard]] Tensor sum_to(const Tensor& x, const Shape& shape);
/// destination[...] = value, converted.
void fill(const Tensor& destination, double value);
/// Whether every element is neither NaN nor infinite (always true for integers).
[[nodiscard]] bool all_finite(const Tensor& x);

}  // namespace fovea
