// What the machine can do, to compare a run with.
#pragma once

#include "engine/device.h"
#include "engine/dtype.h"

namespace fovea {

/// FLOP/s of this machine's best matrix product in that dtype, all threads together: measured in a
/// few hundredths of a second on squares that fit the cache. A multiply-add counts two.
[[nodiscard]] double measured_product_rate(DType dtype, Device device);

}  // namespace fovea
