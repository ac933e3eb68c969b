// The machine's peak matrix multiplication rate, the reference for utilisation.
#pragma once

#include "engine/device.h"
#include "engine/dtype.h"

namespace fovea {

/// FLOP/s of this machine's fastest matrix multiplication in that dtype, all threads together.
/// Measured within a few hundredths of a second on square matrices that fit the cache. A
/// multiply-add counts as two.
[[nodiscard]] double measured_product_rate(DType dtype, Device device);

}  // namespace fovea
