// Shorter formulas of functors for results in bf16, whose rounding hides the difference.
#pragma once

#include "ops/common/short_gelu.h"
#include "ops/elementwise/activation_functors.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// The functor that computes F for results in bf16: F itself, or one named here.
template <class F>
struct InBf16 {
  using type = F;
};

struct ShortGelu {
  float operator()(float x) const { return x * detail::math::short_normal_cdf(x); }
};
struct ShortGeluGrad {
  float operator()(float x, float dy) const { return dy * detail::math::short_gelu_slope(x); }
};
struct ShortGeluTanh {
  float operator()(float x) const { return x * detail::math::short_tanh_cdf(x); }
};
struct ShortGeluTanhGrad {
  float operator()(float x, float dy) const { return dy * detail::math::short_gelu_tanh_slope(x); }
};

template <>
struct InBf16<detail::Gelu> {
  using type = ShortGelu;
};
template <>
struct InBf16<detail::GeluGrad> {
  using type = ShortGeluGrad;
};
template <>
struct InBf16<detail::GeluTanh> {
  using type = ShortGeluTanh;
};
template <>
struct InBf16<detail::GeluTanhGrad> {
  using type = ShortGeluTanhGrad;
};

}  // namespace fovea::ops::cpu::FOVEA_ISA
