// Sine and cosine for the device. The library versions keep an array on the stack for huge
// arguments, a cost for every kernel that calls them. Within 3 ulp for every finite argument.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/device.h"

namespace fovea::ops::detail::trigonometry {

/// Range reduction: x = (quadrant + 4 n) pi / 2 + rest, |rest| <= pi / 4.
struct Reduced {
  double rest;
  unsigned quadrant;
};

/// For 0 <= x < 2^30: pi / 2 in three parts (Cody and Waite); the first difference is exact.
FOVEA_HD inline Reduced reduce_moderate(double x) {
  const double n = std::rint(x * 0x1.45f306dc9c883p-1);
  double rest = std::fma(-n, 0x1.921fb54442d18p+0, x);
  rest = std::fma(-n, 0x1.1a62633145c07p-54, rest);
  rest = std::fma(-n, -0x1.f1976b7ed8fbcp-110, rest);
  return {rest, static_cast<unsigned>(n)};
}

/// The upper half of a 128-bit product.
FOVEA_HD inline std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  const std::uint64_t carry = (middle & 0xffffffffu) + a0 * b1;
  return a1 * b1 + (middle >> 32) + (carry >> 32);
}

/// 64 bits of 2 / pi starting at bit `skipped`; 64 zeros precede the binary point.
FOVEA_HD inline std::uint64_t bits_of_two_over_pi(unsigned skipped) {
  static constexpr std::uint64_t kWords[] = {
      0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
      0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
      0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
      0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
  const unsigned word = skipped / 64, shift = skipped % 64;
  return shift == 0 ? kWords[word] : kWords[word] << shift | kWords[word + 1] >> (64 - shift);
}

/// For 2^30 <= x < infinity (Payne and Hanek): x = m 2^e times the 192 bits of 2 / pi that
/// determine the quadrant and the fraction; earlier bits add multiples of four quadrants.
FOVEA_HD inline Reduced reduce_huge(double x) {
  const auto pattern = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t m = (pattern & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  const unsigned skipped = static_cast<unsigned>(pattern >> 52) - 1075u - 2u + 64u;  // e - 2 + 64
  const std::uint64_t top = bits_of_two_over_pi(skipped);
  const std::uint64_t middle = bits_of_two_over_pi(skipped + 64);
  const std::uint64_t low = bits_of_two_over_pi(skipped + 128);
  // The upper 128 of the product's 192 bits; two of them are the quadrant.
  std::uint64_t second = m * middle, first = m * top + high_product(m, middle);
  const std::uint64_t third = high_product(m, low);
  second += third;
  first += second < third;
  unsigned quadrant = static_cast<unsigned>(first >> 62);
  first = first << 2 | second >> 62;
  second <<= 2;
  const bool is_beyond_half = first >> 63 != 0;
  if (is_beyond_half) {  // use the distance to the next quadrant
    ++quadrant;
    first = ~first + (second == 0);
    second = ~second + 1;
  }
  const double part = static_cast<double>(first) * 0x1p-64 + static_cast<double>(second) * 0x1p-128;
  return {(is_beyond_half ? -part : part) * 0x1.921fb54442d18p+0, quadrant};
}

/// sin(r) from z = r^2 up to (pi / 4)^2; least squares fits at Chebyshev nodes.
FOVEA_HD inline double sine(double r) {
  const double z = r * r;
  double p = std::fma(1.58962187718889915e-10, z, -2.5050747752163969e-8);
  p = std::fma(p, z, 2.75573136219314637e-6);
  p = std::fma(p, z, -0.000198412698295894179);
  p = std::fma(p, z, 0.00833333333332210665);
  p = std::fma(p, z, -0.166666666666666305);
  return std::fma(p * z, r, r);
}
FOVEA_HD inline double cosine(double r) {
  const double z = r * r;
  double p = std::fma(-1.13590083801782867e-11, z, 2.08757103319535672e-9);
  p = std::fma(p, z, -2.75573142515199408e-7);
  p = std::fma(p, z, 0.0000248015872891074069);
  p = std::fma(p, z, -0.00138888888888734664);
  p = std::fma(p, z, 0.0416666666666665952);
  const double half = 0.5 * z, first = 1 - half;
  return first + std::fma(p * z, z, (1 - first) - half);
}
FOVEA_HD inline float sine(float r) {
  const float z = r * r;
  float p = std::fma(-1.951530719e-4f, z, 8.332161107e-3f);
  p = std::fma(p, z, -0.1666665461f);
  return std::fma(p * z, r, r);
}
FOVEA_HD inline float cosine(float r) {
  const float z = r * r;
  float p = std::fma(2.443512539e-5f, z, -1.388733532e-3f);
  p = std::fma(p, z, 0.04166664611f);
  const float half = 0.5f * z, first = 1 - half;
  return first + std::fma(p * z, z, (1 - first) - half);
}

/// sin(x + turns pi / 2) for x >= 0.
template <class T>
FOVEA_HD inline T turned_sine(T x, unsigned turns) {
  if (!(x < INFINITY)) return x - x;  // NaN
  const auto exact = static_cast<double>(x);
  const Reduced r = exact < 0x1p30 ? reduce_moderate(exact) : reduce_huge(exact);
  const unsigned quadrant = r.quadrant + turns;
  const T rest = static_cast<T>(r.rest);
  const T y = quadrant % 2 == 0 ? sine(rest) : cosine(rest);
  return quadrant % 4 >= 2 ? -y : y;
}

template <class T>
FOVEA_HD inline T sin(T x) {
  const T y = turned_sine(std::fabs(x), 0);
  return std::signbit(x) ? -y : y;
}
template <class T>
FOVEA_HD inline T cos(T x) {
  return turned_sine(std::fabs(x), 1);
}

}  // namespace fovea::ops::detail::trigonometry
