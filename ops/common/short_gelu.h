// GELU's factor and derivative for results in bf16, by shorter polynomials than those of math.h.
// x times the factor, and the derivative, rounded, are within 1 ulp of bf16 for every bf16 x, or
// within 2^-15 where they are below 2^-6. Coefficients are minimax fits of that error, with more
// weight on the arguments whose result is almost a tie there. For the host.
#pragma once

#include <cstddef>

namespace fovea::ops::detail::math {

/// A step from 0 to 1 that is odd beside 1/2:  1/2 + x p(x^2) where x^2 < limit, else 0 or 1; p is
/// given in powers of v = 2 x^2 / limit - 1, the highest first.
template <std::size_t kTerms>
struct OddStep {
  float limit;
  float p[kTerms];
};

/// y = s(x) for several x at a time, each a float or a vector of floats.
template <std::size_t kTerms, std::size_t kCount, class V>
[[gnu::always_inline]] inline void odd_steps(const OddStep<kTerms>& s, const V (&x)[kCount],
                                             V (&y)[kCount]) {
  V square[kCount], v[kCount];
#pragma GCC unroll 16
  for (std::size_t j = 0; j < kCount; ++j) {
    square[j] = x[j] * x[j];
    v[j] = square[j] * (2 / s.limit) - 1.0f;
    y[j] = v[j] * s.p[0] + s.p[1];
  }
#pragma GCC unroll 16
  for (std::size_t i = 2; i < kTerms; ++i) {
#pragma GCC unroll 16
    for (std::size_t j = 0; j < kCount; ++j) y[j] = y[j] * v[j] + s.p[i];
  }
#pragma GCC unroll 16
  for (std::size_t j = 0; j < kCount; ++j) {
    const V near = y[j] * x[j] + 0.5f;
    const V far = x[j] > 0.0f ? V{} + 1.0f : V{};
    y[j] = square[j] >= s.limit ? far : near;  // NaN takes the near branch
  }
}
template <std::size_t kTerms, class V>
[[gnu::always_inline]] inline V odd_step(const OddStep<kTerms>& s, V x) {
  const V from[1] = {x};
  V to[1];
  odd_steps(s, from, to);
  return to[0];
}

/// Phi(x), the normal distribution function.
inline constexpr OddStep<9> kShortNormalCdf{
    19.0969f,
    {0.002260811161f, -0.007150680758f, 0.01111144852f, -0.01627281681f, 0.02642310411f,
     -0.03973482922f, 0.05535272509f, -0.07905811071f, 0.1614841074f}};
template <class V>
[[gnu::always_inline]] inline V short_normal_cdf(V x) {
  return odd_step(kShortNormalCdf, x);
}
/// Phi(x) + x phi(x), the derivative of x Phi(x).
inline constexpr OddStep<12> kShortGeluSlope{
    22.5625f,
    {-0.008308159187f, 0.02428336255f, -0.02815078199f, 0.03092528693f, -0.05488274619f,
     0.08088702708f, -0.09052765369f, 0.08945733309f, -0.08272281289f, 0.0758092925f,
     -0.08166465908f, 0.1501643658f}};
template <class V>
[[gnu::always_inline]] inline V short_gelu_slope(V x) {
  return odd_step(kShortGeluSlope, x);
}

/// (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), GELU's approximation of Phi.
inline constexpr OddStep<10> kShortTanhCdf{
    18.0625f,
    {-0.000919243379f, 0.003094665008f, -0.005128147546f, 0.008141323924f, -0.01486420352f,
     0.0253644865f, -0.0388314724f, 0.05569666252f, -0.08089011163f, 0.1659818739f}};
template <class V>
[[gnu::always_inline]] inline V short_tanh_cdf(V x) {
  return odd_step(kShortTanhCdf, x);
}
/// The derivative of x (1 + tanh(u)) / 2.
inline constexpr OddStep<11> kShortGeluTanhSlope{
    20.25f,
    {0.01206275728f, -0.03287601471f, 0.03425574303f, -0.03404384851f, 0.06070408598f,
     -0.08972167969f, 0.09999468923f, -0.09659877419f, 0.08806242049f, -0.09001027793f,
     0.1592901647f}};
template <class V>
[[gnu::always_inline]] inline V short_gelu_tanh_slope(V x) {
  return odd_step(kShortGeluTanhSlope, x);
}

}  // namespace fovea::ops::detail::math
