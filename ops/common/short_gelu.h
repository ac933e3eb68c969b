// GELU's factor and derivative for results in bf16, by shorter polynomials than those of math.h.
// x times the factor, and the derivative, are within 1 ulp of bf16, or within 2^-15 where they are
// below 2^-6. Coefficients are minimax fits of that error. For the host.
#pragma once

#include <cstddef>

namespace fovea::ops::detail::math {

/// A step from 0 to 1 that is odd beside 1/2:  1/2 + x p(x^2) where x^2 < limit, else 0 or 1; p is
/// given in powers of v = 2 x^2 / limit - 1, the highest first. V is float or a vector of floats.
template <std::size_t kTerms, class V>
[[gnu::always_inline]] inline V odd_step(V x, float limit, const float (&p)[kTerms]) {
  const V square = x * x;
  const V v = square * (2 / limit) - 1.0f;
  V sum = v * p[0] + p[1];
#pragma GCC unroll 16
  for (std::size_t i = 2; i < kTerms; ++i) sum = sum * v + p[i];
  const V near = sum * x + 0.5f;
  const V far = x > 0.0f ? V{} + 1.0f : V{};
  return square >= limit ? far : near;  // NaN takes the near branch
}

/// Phi(x), the normal distribution function.
template <class V>
[[gnu::always_inline]] inline V short_normal_cdf(V x) {
  return odd_step(
      x, 19.36f,
      {0.001963429737f, -0.006768289928f, 0.01153756591f, -0.01715806834f, 0.02685651002f,
       -0.03977632736f, 0.05520463618f, -0.07862983518f, 0.1604059465f});
}
/// Phi(x) + x phi(x), the derivative of x Phi(x).
template <class V>
[[gnu::always_inline]] inline V short_gelu_slope(V x) {
  return odd_step(x, 22.5625f,
                  {0.016561378f, -0.04551033918f, 0.04712589482f, -0.04289612467f, 0.06952886479f,
                   -0.09354737721f, 0.09244795296f, -0.0825097638f, 0.075570824f, -0.08166857672f,
                   0.1501672828f});
}

/// (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), GELU's approximation of Phi.
template <class V>
[[gnu::always_inline]] inline V short_tanh_cdf(V x) {
  return odd_step(x, 17.64f,
                  {0.001525562911f, -0.005267290695f, 0.009164069166f, -0.01444987549f,
                   0.02431630777f, -0.03837118991f, 0.0558362272f, -0.08161181948f, 0.1679044871f});
}
/// The derivative of x (1 + tanh(u)) / 2.
template <class V>
[[gnu::always_inline]] inline V short_gelu_tanh_slope(V x) {
  return odd_step(x, 20.25f,
                  {0.01216199865f, -0.03344821777f, 0.03454379633f, -0.03302404627f, 0.05994113762f,
                   -0.09025431065f, 0.100470614f, -0.09653419653f, 0.08797572293f, -0.09000556123f,
                   0.159292099f});
}

}  // namespace fovea::ops::detail::math
