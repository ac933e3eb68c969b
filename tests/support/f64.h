// Options of the tensors that tests compute in f64.
#pragma once

#include "engine/tensor.h"

namespace fovea {

inline constexpr TensorOptions kF64{DType::f64, {}};

}  // namespace fovea
