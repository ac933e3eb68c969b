// Interpolation in f64, with all channels of a pixel at once if the processor has AVX2.
//
// Compiled without fused multiply-add (CMakeLists.txt) for bit-identical results with Pillow.
#include "data/augment/affine_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/cpu_isa.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fovea {
namespace {

constexpr int kLanes = Surface::kLanes;
using Lanes = std::array<double, kLanes>;

/// One value for each lane of each tap.
template <class T, std::size_t Taps>
using Values = std::array<std::array<T, kLanes>, Taps>;

/// a + (b - a) d.
template <class T>
Lanes interpolate(const Values<T, 2>& v, double d) {
  Lanes result;
  for (std::size_t c = 0; c < kLanes; ++c) {
    const auto a = static_cast<double>(v[0][c]), slope = static_cast<double>(v[1][c] - v[0][c]);
    result[c] = a + slope * d;
  }
  return result;
}

/// Keys' cubic with a = -1 through four values, between the middle two. The coefficients of 8-bit
/// values are integers, exact in f32.
template <class T>
Lanes interpolate(const Values<T, 4>& v, double d) {
  Lanes result;
  for (std::size_t c = 0; c < kLanes; ++c) {
    const T v0 = v[0][c], v1 = v[1][c], v2 = v[2][c], v3 = v[3][c];
    const auto p2 = static_cast<double>(-v0 + v2);
    const auto p3 = static_cast<double>(2 * (v0 - v1) + v2 - v3);
    const auto p4 = static_cast<double>(-v0 + v1 - v2 + v3);
    result[c] = static_cast<double>(v1) + d * (p2 + d * (p3 + d * p4));
  }
  return result;
}

template <int Taps>
constexpr int kMiddle = Taps / 2 - 1;  ///< index of the neighbour at distance 0

/// The `Taps` neighbours of a point, from `first` on, and its distance from the middle one.
struct Position {
  std::int64_t first;
  double distance;
};

template <int Taps>
Position position(double coordinate) {
  const double floor = std::floor(coordinate - 0.5);
  return {static_cast<std::int64_t>(floor) - kMiddle<Taps>, coordinate - 0.5 - floor};
}

/// Interpolates between adjacent neighbours.
template <int Taps>
Lanes sample_row(const std::uint8_t* pixels, double distance) {
  Lanes result;
  std::copy_n(pixels + kMiddle<Taps> * kLanes, kLanes, result.begin());
  if (distance == 0) return result;
  Values<float, Taps> v;
  for (int k = 0; k < Taps; ++k) std::copy_n(pixels + k * kLanes, kLanes, v[k].begin());
  return interpolate(v, distance);
}

/// Interpolates one colour. Shears and translations move along one axis only: the other distance
/// is then exactly 0, and so are all terms with it as a factor.
template <int Taps>
Lanes sample(const Surface& source, PixelPoint at) {
  const Position px = position<Taps>(at.x), py = position<Taps>(at.y);
  if (py.distance == 0)
    return sample_row<Taps>(source.at(py.first + kMiddle<Taps>, px.first), px.distance);
  Values<double, Taps> rows;
  for (int k = 0; k < Taps; ++k)
    rows[k] = sample_row<Taps>(source.at(py.first + k, px.first), px.distance);
  return interpolate(rows, py.distance);
}

#if defined(__x86_64__)

/// A pixel as integers; operators work on all channels at once.
using Whole [[gnu::vector_size(kLanes * sizeof(std::int32_t))]] = std::int32_t;

[[gnu::target("avx2")]] inline Whole pixel_avx2(const std::uint8_t* at) {
  std::int32_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  return reinterpret_cast<Whole>(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes)));
}

[[gnu::target("avx2")]] inline __m256d widen_avx2(Whole v) {
  return _mm256_cvtepi32_pd(reinterpret_cast<__m128i>(v));
}

[[gnu::target("avx2")]] inline __m256d linear_avx2(const std::uint8_t* pixels, __m256d d) {
  const Whole v0 = pixel_avx2(pixels), v1 = pixel_avx2(pixels + kLanes);
  return widen_avx2(v0) + widen_avx2(v1 - v0) * d;
}

[[gnu::target("avx2")]] inline __m256d cubic_avx2(const std::uint8_t* pixels, __m256d d) {
  const Whole v0 = pixel_avx2(pixels), v1 = pixel_avx2(pixels + kLanes);
  const Whole v2 = pixel_avx2(pixels + 2 * kLanes), v3 = pixel_avx2(pixels + 3 * kLanes);
  const __m256d p2 = widen_avx2(-v0 + v2), p3 = widen_avx2(2 * (v0 - v1) + v2 - v3);
  return widen_avx2(v1) + d * (p2 + d * (p3 + d * widen_avx2(-v0 + v1 - v2 + v3)));
}

/// interpolate() with one operation for all lanes of a pixel.
template <int Taps>
[[gnu::target("avx2")]] inline __m256d interpolate_avx2(const __m256d (&v)[Taps], __m256d d) {
  if constexpr (Taps == 2) {
    return v[0] + (v[1] - v[0]) * d;
  } else {
    const __m256d p2 = -v[0] + v[2], p3 = 2 * (v[0] - v[1]) + v[2] - v[3];
    return v[1] + d * (p2 + d * (p3 + d * (-v[0] + v[1] - v[2] + v[3])));
  }
}

template <int Taps>
[[gnu::target("avx2")]] inline __m256d sample_row_avx2(const std::uint8_t* pixels,
                                                       double distance) {
  if (distance == 0) return widen_avx2(pixel_avx2(pixels + kMiddle<Taps> * kLanes));
  const __m256d d = _mm256_set1_pd(distance);
  return Taps == 2 ? linear_avx2(pixels, d) : cubic_avx2(pixels, d);
}

template <int Taps>
[[gnu::target("avx2")]] inline __m256d sample_avx2(const Surface& source, PixelPoint at) {
  const Position px = position<Taps>(at.x), py = position<Taps>(at.y);
  if (py.distance == 0)
    return sample_row_avx2<Taps>(source.at(py.first + kMiddle<Taps>, px.first), px.distance);
  __m256d rows[Taps];
  for (int k = 0; k < Taps; ++k)
    rows[k] = sample_row_avx2<Taps>(source.at(py.first + k, px.first), px.distance);
  return interpolate_avx2<Taps>(rows, _mm256_set1_pd(py.distance));
}

template <int Taps>
[[gnu::target("avx2")]] void sample_span_avx2(const Surface& source, const MappedRow& row,
                                              const Span& span) {
  for (std::int64_t x = span.begin; x < span.end; ++x) {
    const __m128i color = _mm256_cvttpd_epi32(sample_avx2<Taps>(source, row.source(x)));
    const __m128i words = _mm_packs_epi32(color, color);  // both packing instructions saturate
    const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    std::memcpy(row.pixels + x * Image::kChannels, &bytes, Image::kChannels);
  }
}

#endif

template <int Taps>
void sample_span(const Surface& source, const MappedRow& row, const Span& span) {
#if defined(__x86_64__)
  if (includes(cpu_isa(), Isa::v3)) return sample_span_avx2<Taps>(source, row, span);
#endif
  for (std::int64_t x = span.begin; x < span.end; ++x) {
    const Lanes color = sample<Taps>(source, row.source(x));
    for (int c = 0; c < Image::kChannels; ++c)
      row.pixels[x * Image::kChannels + c] =
          static_cast<std::uint8_t>(std::clamp(color[c], 0.0, 255.0));
  }
}

}  // namespace

Surface::Surface(const Image& image)
    : stride_((image.width + 2 * kBorder) * kLanes),
      bytes_(static_cast<std::size_t>((image.height + 2 * kBorder) * stride_)) {
  for (std::int64_t y = 0; y < image.height; ++y) spread_row(image, y);
  for (std::int64_t k = 1; k <= kBorder; ++k) {
    copy_row(0, -k);
    copy_row(image.height - 1, image.height - 1 + k);
  }
}

void Surface::spread_row(const Image& image, std::int64_t y) {
  const std::uint8_t* from = image.at(y, 0);
  std::uint8_t* const first = row(y) + kBorder * kLanes;
  std::uint8_t* to = first;
  for (std::int64_t x = 1; x < image.width; ++x, from += Image::kChannels, to += kLanes)
    std::memcpy(to, from, kLanes);  // the unused lane overlaps the next pixel's first
  std::memcpy(to, from, Image::kChannels);
  for (std::int64_t k = 1; k <= kBorder; ++k) {
    std::memcpy(first - k * kLanes, first, kLanes);
    std::memcpy(to + k * kLanes, to, kLanes);
  }
}

void Surface::copy_row(std::int64_t from, std::int64_t to) {
  std::copy_n(row(from), stride_, row(to));
}

void sample_bilinear(const Surface& source, const MappedRow& row, const Span& span) {
  sample_span<2>(source, row, span);
}

void sample_bicubic(const Surface& source, const MappedRow& row, const Span& span) {
  sample_span<4>(source, row, span);
}

}  // namespace fovea
