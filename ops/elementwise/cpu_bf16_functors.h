// Shorter formulas of functors for results in bf16, whose rounding hides the difference.
#pragma once

#include "ops/common/short_gelu.h"
#include "ops/elementwise/activation_functors.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// y = x factor(x).
template <float (*kFactor)(float)>
struct ScaledInput {
  float operator()(float x) const { return x * kFactor(x); }
};
/// dx = dy slope(x).
template <float (*kSlope)(float)>
struct ScaledGradient {
  float operator()(float x, float dy) const { return dy * kSlope(x); }
};

/// The functor that computes F for results in bf16: F itself, or one named here.
template <class F>
struct InBf16 {
  using type = F;
};
template <>
struct InBf16<detail::Gelu> {
  using type = ScaledInput<detail::math::short_normal_cdf>;
};
template <>
struct InBf16<detail::GeluGrad> {
  using type = ScaledGradient<detail::math::short_gelu_slope>;
};
template <>
struct InBf16<detail::GeluTanh> {
  using type = ScaledInput<detail::math::short_tanh_cdf>;
};
template <>
struct InBf16<detail::GeluTanhGrad> {
  using type = ScaledGradient<detail::math::short_gelu_tanh_slope>;
};

}  // namespace fovea::ops::cpu::FOVEA_ISA
