// Tensors of random numbers: element i is a function of (seed, stream, i).
#pragma once

#include "engine/rng.h"
#include "engine/tensor.h"

namespace fovea {

struct UniformRange {
  double lo = 0, hi = 1;
};
struct NormalLaw {
  double mean = 0, deviation = 1;
};
/// Uniform on the dtype's numbers in [lo, hi), or lo where hi equals it. Throws if there is none.
/// E.g. rand_uniform({3, 4}, {-1, 1}, {seed}).
[[nodiscard]] Tensor rand_uniform(const Shape& shape, UniformRange range, RandomKey key,
                                  TensorOptions options = {});
/// Normal by the Box-Muller transform, e.g. rand_normal({3, 4}, {0, 1}, {seed, stream}).
[[nodiscard]] Tensor rand_normal(const Shape& shape, NormalLaw law, RandomKey key,
                                 TensorOptions options = {});

}  // namespace fovea
