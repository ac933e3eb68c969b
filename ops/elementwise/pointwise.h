// Unary ops: functor, derivative and record() in one line.
#pragma once

#include "engine/autograd.h"
#include "ops/common/checks.h"
#include "ops/elementwise/map.h"

namespace fovea::ops::detail {

/// y = f(x) with dx = df(x, dy).
template <class F, class Grad>
Tensor pointwise(const OpLabel& op, const Tensor& x, F f, Grad df) {
  require_float(op, x);
  return record(op, map(f, x), {x}, {x},
                [df](const GradArgs& g) -> Grads { return {map(df, g.saved[0], g.dy)}; });
}

/// y = f(x) with dx = df(y, dy): saves the output, which the next op often saves anyway.
template <class F, class Grad>
Tensor pointwise_from_output(const OpLabel& op, const Tensor& x, F f, Grad df) {
  require_float(op, x);
  const Tensor y = map(f, x);
  return record(op, y, {x}, {y},
                [df](const GradArgs& g) -> Grads { return {map(df, g.saved[0], g.dy)}; });
}

}  // namespace fovea::ops::detail
