// Ops made on the spot, so that tests of the tape depend on the engine alone.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "engine/autograd.h"

namespace fovea {

inline Tensor leaf(std::initializer_list<double> values) {
  const Tensor t =
      from_values({static_cast<std::int64_t>(values.size())}, values, {DType::f64, {}});
  return t.set_requires_grad();
}

/// y = x^2, elementwise.
inline Tensor square(const Tensor& x) {
  Tensor y = x.detach().clone();
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] *= x.at(i);
  return record("square", y, {x}, {x}, [](const GradArgs& g) -> Grads {
    Tensor dx = g.dy.clone();
    for (std::int64_t i = 0; i < dx.numel(); ++i) dx.data<double>()[i] *= 2 * g.saved[0].at(i);
    return {dx};
  });
}

/// y = a + b; both gradients are the same tensor.
inline Tensor plus(const Tensor& a, const Tensor& b) {
  Tensor y = a.detach().clone();
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] += b.at(i);
  return record("plus", y, {a, b}, {}, [](const GradArgs& g) -> Grads { return {g.dy, g.dy}; });
}

}  // namespace fovea
