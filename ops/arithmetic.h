// Elementwise arithmetic with numpy broadcasting. Operands of different float dtypes are promoted
// to the wider one (bf16 < f32 < f64). Formulas and derivatives:
// ops/elementwise/arithmetic_functors.h.
#pragma once

#include <utility>

#include "engine/tensor.h"

namespace fovea::ops {

[[nodiscard]] Tensor add(const Tensor& a, const Tensor& b);  ///< a + b
/// The same; without a tape the sum takes the memory of `b`, unless another handle shares it.
[[nodiscard]] Tensor add(const Tensor& a, Tensor&& b);
[[nodiscard]] Tensor sub(const Tensor& a, const Tensor& b);  ///< a - b
[[nodiscard]] Tensor mul(const Tensor& a, const Tensor& b);  ///< a b
[[nodiscard]] Tensor div(const Tensor& a, const Tensor& b);  ///< a / b
[[nodiscard]] Tensor add(const Tensor& a, double b);
[[nodiscard]] Tensor mul(const Tensor& a, double b);
[[nodiscard]] Tensor div(const Tensor& a, double b);  ///< divides, unlike mul(a, 1 / b)
[[nodiscard]] Tensor neg(const Tensor& x);            ///< -x
/// x + a b in one pass. a and b broadcast to the shape of x; they may be bf16 with an f32 x.
[[nodiscard]] Tensor add_product(const Tensor& x, const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor abs(const Tensor& x);  ///< |x|, derivative 0 at 0

/// NaN in x stays NaN; the derivative is 1 inside [lo, hi] (ends included) and 0 outside.
[[nodiscard]] Tensor clamp(const Tensor& x, double lo, double hi);
/// NaN in either operand gives NaN; equal operands each receive half of the gradient.
[[nodiscard]] Tensor maximum(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor minimum(const Tensor& a, const Tensor& b);

/// mask (u8, broadcasts) ? a : b; masked_fill: mask ? value : x.
[[nodiscard]] Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

[[nodiscard]] Tensor exp(const Tensor& x);                   ///< e^x
[[nodiscard]] Tensor log(const Tensor& x);                   ///< natural logarithm
[[nodiscard]] Tensor sqrt(const Tensor& x);                  ///< square root
[[nodiscard]] Tensor rsqrt(const Tensor& x);                 ///< 1 / sqrt(x)
[[nodiscard]] Tensor pow(const Tensor& x, double exponent);  ///< x^exponent
[[nodiscard]] Tensor sin(const Tensor& x);                   ///< sine of radians
[[nodiscard]] Tensor cos(const Tensor& x);                   ///< cosine of radians

// Comparisons return u8 masks (0 or 1) and have no derivative. Any dtypes.
[[nodiscard]] Tensor equal(const Tensor& a, const Tensor& b);    ///< a == b
[[nodiscard]] Tensor less(const Tensor& a, const Tensor& b);     ///< a < b
[[nodiscard]] Tensor greater(const Tensor& a, const Tensor& b);  ///< a > b

}  // namespace fovea::ops

namespace fovea {

// Found by argument-dependent lookup, so expressions read like the formula.
[[nodiscard]] inline Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
[[nodiscard]] inline Tensor operator+(const Tensor& a, Tensor&& b) {
  return ops::add(a, std::move(b));
}
[[nodiscard]] inline Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
[[nodiscard]] inline Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
[[nodiscard]] inline Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
[[nodiscard]] inline Tensor operator+(const Tensor& a, double b) { return ops::add(a, b); }
[[nodiscard]] inline Tensor operator-(const Tensor& a, double b) { return ops::add(a, -b); }
[[nodiscard]] inline Tensor operator*(const Tensor& a, double b) { return ops::mul(a, b); }
[[nodiscard]] inline Tensor operator*(double a, const Tensor& b) { return ops::mul(b, a); }
[[nodiscard]] inline Tensor operator/(const Tensor& a, double b) { return ops::div(a, b); }
[[nodiscard]] inline Tensor operator-(const Tensor& x) { return ops::neg(x); }

}  // namespace fovea
