// Evaluation of a model in f64, on drawn inputs.
#pragma once

#include <cstdint>

#include "engine/random.h"
#include "models/model.h"
#include "tests/support/f64.h"

namespace fovea::tests {

inline Context in_f64() {
  Context ctx;
  ctx.activations = DType::f64;
  return ctx;
}

/// Normal values.
inline Tensor drawn(const Shape& shape, std::uint64_t stream) {
  return rand_normal(shape, {0, 1}, {1, stream}, kF64);
}

}  // namespace fovea::tests
