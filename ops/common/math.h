// Elementary functions of float and double for host and device.
//
// On the host the float versions are branch-free polynomials, so that GCC vectorises loops that
// call them; they are within 3 ulp of the true value and correct for NaN, infinities, subnormals
// and overflow. double, and sin, cos and pow of either type, use the C library, except for the
// device's sine and cosine (trigonometry.h). Coefficients are least squares fits of the relative
// error at Chebyshev nodes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/device.h"
#include "ops/common/trigonometry.h"

namespace fovea::ops::detail::math {

inline constexpr double kSqrtHalf = 0.70710678118654752440;     ///< 1 / sqrt(2)
inline constexpr double kInvSqrt2Pi = 0.39894228040143267794;   ///< 1 / sqrt(2 pi)
inline constexpr double kSqrt2OverPi = 0.79788456080286535588;  ///< sqrt(2 / pi)

/// a b + c, with a single rounding if the instruction set supports it.
FOVEA_HD inline float fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__CUDA_ARCH__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

template <class T>
FOVEA_HD inline T abs(T x) {
  return std::fabs(x);
}
template <class T>
FOVEA_HD inline T sqrt(T x) {
  return std::sqrt(x);
}
template <class T>
FOVEA_HD inline bool is_nan(T x) {
  return x != x;  // NOLINT(misc-redundant-expression): true for NaN only, and it vectorises
}
/// NaN in either operand gives NaN.
template <class T>
FOVEA_HD inline T max(T a, T b) {
  return a > b || is_nan(a) ? a : b;
}
template <class T>
FOVEA_HD inline T min(T a, T b) {
  return a < b || is_nan(a) ? a : b;
}

template <class T>
FOVEA_HD inline T sin(T x) {
#if defined(__CUDA_ARCH__)
  return trigonometry::sin(x);
#else
  return std::sin(x);
#endif
}
template <class T>
FOVEA_HD inline T cos(T x) {
#if defined(__CUDA_ARCH__)
  return trigonometry::cos(x);
#else
  return std::cos(x);
#endif
}
/// float is computed in double: exp(y log x) in float would lose digits.
template <class T>
FOVEA_HD inline T pow(T x, double exponent) {
  return static_cast<T>(std::pow(static_cast<double>(x), exponent));
}

FOVEA_HD inline double exp(double x) { return std::exp(x); }
FOVEA_HD inline double log(double x) { return std::log(x); }
FOVEA_HD inline double log1p_unit(double u) { return std::log1p(u); }
FOVEA_HD inline double tanh(double x) { return std::tanh(x); }
FOVEA_HD inline double erf(double x) { return std::erf(x); }

#if defined(__CUDA_ARCH__)
FOVEA_HD inline float exp(float x) { return ::expf(x); }
FOVEA_HD inline float log(float x) { return ::logf(x); }
FOVEA_HD inline float log1p_unit(float u) { return ::log1pf(u); }
FOVEA_HD inline float tanh(float x) { return ::tanhf(x); }
FOVEA_HD inline float erf(float x) { return ::erff(x); }
#else

/// Adding 1.5 2^23 rounds to an integer, which then occupies the low bits.
inline constexpr float kRoundShift = 12582912.0f;
FOVEA_HD inline std::uint32_t rounded_bits(float shifted) {
  return std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRoundShift);
}
/// 2^n for -126 <= n <= 127, with n in two's complement.
FOVEA_HD inline float power_of_two(std::uint32_t n) {
  return std::bit_cast<float>((n + 127u) << 23);
}

/// x = n ln 2 + r with |r| <= ln 2 / 2;  exp(x) = 2^n (1 + r + r^2 q(r)).
FOVEA_HD inline float exp(float x) {
  x = x < -104.0f ? -104.0f : x;  // beyond these limits exp is 0 or infinity
  x = x > 89.0f ? 89.0f : x;
  const float shifted = fma(x, 1.44269504f, kRoundShift);
  const float n = shifted - kRoundShift;
  float r = fma(n, -0.693145752f, x);  // ln 2 in two parts; the first has few bits
  r = fma(n, -1.42860682e-6f, r);
  float q = fma(0.001394656195f, r, 0.008369223508f);
  q = fma(q, r, 0.04166626152f);
  q = fma(q, r, 0.1666651538f);
  q = fma(q, r, 0.5f);
  const float p = fma(q * r, r, r) + 1.0f;
  // 2^n as two factors, since n ranges from -150 to 128.
  const std::uint32_t bits = rounded_bits(shifted);
  const auto half = static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 1);
  return p * power_of_two(half) * power_of_two(bits - half);
}

/// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2));  log(1 + f) = 2 atanh(s), s = f / (2 + f),
/// arranged as f - f^2/2 + s (f^2/2 + series) so that the leading terms are exact.
FOVEA_HD inline float log(float x) {
  const bool is_subnormal = x < 1.17549435e-38f;
  const float scaled = is_subnormal ? x * 8388608.0f : x;
  const std::uint32_t u = std::bit_cast<std::uint32_t>(scaled) + (0x3f800000u - 0x3f3504f3u);
  const auto exponent = static_cast<std::int32_t>(u >> 23) - 127;
  const float k = static_cast<float>(exponent) - (is_subnormal ? 23.0f : 0.0f);
  const float f = std::bit_cast<float>((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s;
  float series = fma(0.222222222f, z, 0.285714286f);  // 2/9, 2/7, 2/5, 2/3
  series = fma(series, z, 0.4f);
  series = fma(series, z, 0.666666667f) * z;
  const float half_square = 0.5f * f * f;
  const float low = fma(s, half_square + series, k * 1.42860682e-6f);
  const float y = fma(k, 0.693145752f, f - (half_square - low));
  const float edge = x == 0.0f ? -INFINITY : (x < 0.0f ? NAN : x);  // infinity and NaN stay
  return x > 0.0f && x < INFINITY ? y : edge;
}

/// log(1 + u) for u in [0, 1]: 2 atanh(s), s = u / (2 + u) <= 1/3.
FOVEA_HD inline float log1p_unit(float u) {
  const float s = u / (2.0f + u);
  const float z = s * s;
  float series = fma(0.133333333f, z, 0.153846154f);  // 2/15, 2/13, 2/11, ...
  series = fma(series, z, 0.181818182f);
  series = fma(series, z, 0.222222222f);
  series = fma(series, z, 0.285714286f);
  series = fma(series, z, 0.4f);
  series = fma(series, z, 0.666666667f) * z;
  return fma(s, series, s + s);
}

/// |x| < 0.625: x + x^3 p(x^2);  else sign(x) (1 - 2 / (exp(2 |x|) + 1)).
FOVEA_HD inline float tanh(float x) {
  const float z = x * x;
  float p = fma(-0.005693637695f, z, 0.02063267671f);
  p = fma(p, z, -0.05373917382f);
  p = fma(p, z, 0.1333145796f);
  p = fma(p, z, -0.3333328369f);
  const float a = abs(x);
  const float small = fma(p * z, a, a);
  const float large = 1.0f - 2.0f / (exp(a + a) + 1.0f);
  return std::copysign(a < 0.625f ? small : large, x);
}

/// |x| < 0.9: x + x p(x^2);  else sign(x) (1 - 2^t(|x|)) with t = log2(erfc |x|), which is almost
/// a parabola.
FOVEA_HD inline float erf(float x) {
  const float z = x * x;
  float p = fma(-6.144117392e-4f, z, 5.023290075e-3f);
  p = fma(p, z, -2.678739961e-2f);
  p = fma(p, z, 0.1128240853f);
  p = fma(p, z, -0.3761255495f);
  p = fma(p, z, 0.1283791618f);
  const float small = fma(p, x, x);

  const float a = abs(x) > 4.0f ? 4.0f : abs(x);  // 1 - erf(4) rounds to 0
  float t = fma(2.058993725e-4f, a, -3.639770197e-3f);
  t = fma(t, a, 2.912204081e-2f);
  t = fma(t, a, -0.1439918857f);
  t = fma(t, a, -0.9258079699f);
  t = fma(t, a, -1.623160561f);
  t = fma(t, a, -1.144389373e-3f);
  const float shifted = t + kRoundShift;
  const float r = t - (shifted - kRoundShift);
  float q = fma(1.340056627e-3f, r, 9.672280137e-3f);
  q = fma(q, r, 5.550326879e-2f);
  q = fma(q, r, 0.2402222645f);
  q = fma(q, r, 0.6931472069f);
  q = fma(q, r, 1.0f);
  const float large = std::copysign(1.0f - q * power_of_two(rounded_bits(shifted)), x);
  return abs(x) < 0.9f ? small : large;
}
#endif

/// 1 / (1 + exp(-x)), without overflow on either side.
template <class T>
FOVEA_HD inline T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x >= T(0) ? T(1) : e) / (T(1) + e);
}

/// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)).
template <class T>
FOVEA_HD inline T softplus(T x) {
  return (x < T(0) ? T(0) : x) + log1p_unit(exp(-abs(x)));
}

/// Phi(x) = (1 + erf(x / sqrt 2)) / 2, the normal distribution function.
FOVEA_HD inline double normal_cdf(double x) { return 0.5 * (1 + erf(x * kSqrtHalf)); }
#if defined(__CUDA_ARCH__)
FOVEA_HD inline float normal_cdf(float x) {
  return 0.5f * (1.0f + erf(x * static_cast<float>(kSqrtHalf)));
}
#else
/// |x| < 5.5: 1/2 + x p(x^2), p in powers of v in [-1, 1]; else 0 or 1, with an error of at most
/// 2e-8. A single polynomial, because the cost of GELU in a GEMM epilogue is proportional to its
/// terms. V is float or a vector of floats.
template <class V>
FOVEA_HD inline V normal_cdf_of(V x) {
  const V square = x * x;
  const V v = square * 0.06611569971f - 1.0f;
  V p = v * -0.0002406423446f + 0.0006397436955f;
  p = p * v - 0.000519907393f;
  p = p * v + 0.0006957914447f;
  p = p * v - 0.002423468744f;
  p = p * v + 0.004649603739f;
  p = p * v - 0.00682235742f;
  p = p * v + 0.01021241676f;
  p = p * v - 0.01499590464f;
  p = p * v + 0.02036881819f;
  p = p * v - 0.02604930848f;
  p = p * v + 0.03206972405f;
  p = p * v - 0.0387926586f;
  p = p * v + 0.04773765057f;
  p = p * v - 0.06417234242f;
  p = p * v + 0.1285519302f;
  const V near = p * x + 0.5f;
  const V far = x > 0.0f ? V{} + 1.0f : V{};
  return square >= 30.25f ? far : near;  // NaN takes the near branch
}
FOVEA_HD inline float normal_cdf(float x) { return normal_cdf_of(x); }

/// (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3): GELU's approximation of Phi,
/// computed like normal_cdf_of(). |x| < 5.2: 1/2 + x p(x^2); else 0 or 1.
template <class V>
FOVEA_HD inline V tanh_cdf_of(V x) {
  const V square = x * x;
  const V v = square * 0.07396449894f - 1.0f;
  V p = v * 0.0006641328218f - 0.0009074142436f;
  p = p * v - 0.001869386993f;
  p = p * v + 0.002911418444f;
  p = p * v + 0.001416641055f;
  p = p * v - 0.002118644072f;
  p = p * v - 0.002917579841f;
  p = p * v + 0.004846172873f;
  p = p * v - 0.004291599151f;
  p = p * v + 0.006913943682f;
  p = p * v - 0.01201631036f;
  p = p * v + 0.01781455055f;
  p = p * v - 0.02450571395f;
  p = p * v + 0.03197593987f;
  p = p * v - 0.04007744417f;
  p = p * v + 0.05015223101f;
  p = p * v - 0.06779699773f;
  p = p * v + 0.1359599084f;
  const V near = p * x + 0.5f;
  const V far = x > 0.0f ? V{} + 1.0f : V{};
  return square >= 27.04f ? far : near;  // NaN takes the near branch
}
#endif

/// phi(x) = exp(-x^2 / 2) / sqrt(2 pi), the normal density.
template <class T>
FOVEA_HD inline T normal_pdf(T x) {
  return T(kInvSqrt2Pi) * exp(T(-0.5) * x * x);
}

}  // namespace fovea::ops::detail::math
