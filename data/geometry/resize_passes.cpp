// Integer resizing passes: eight sums at a time with AVX2, otherwise one.
#include "data/geometry/resize_passes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/cpu_isa.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fovea {
namespace {

constexpr int kChannels = Image::kChannels;
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

/// The weights of one output.
struct Taps {
  const std::int32_t* weight;
  std::int64_t count;
};

std::int32_t fixed_weight(double value) {
  const double weight = value * (1 << kWeightBits);
  return static_cast<std::int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5);
}

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

/// Two rows of sources and outputs. Sources are followed by at least one readable byte.
struct RowPair {
  std::array<const std::uint8_t*, 2> source;
  std::array<std::uint8_t*, 2> output;
};

Taps taps_of(const ResizeWeights& weights, std::int64_t output) {
  return {weights.values.data() + output * weights.taps, weights.count[output]};
}

void sum_columns(const RowPair& rows, const ResizeWeights& weights, std::int64_t x) {
  const Taps taps = taps_of(weights, x);
  for (std::size_t r = 0; r < 2; ++r) {
    const std::uint8_t* source = rows.source[r] + weights.first[x] * kChannels;
    std::array<std::int32_t, kChannels> sum = {kHalf, kHalf, kHalf};
    for (std::int64_t k = 0; k < taps.count; ++k)
      for (int c = 0; c < kChannels; ++c) sum[c] += *source++ * taps.weight[k];
    std::transform(sum.begin(), sum.end(), rows.output[r] + x * kChannels, to_byte);
  }
}

/// The same for pixels with any number of channels.
void sum_channels(const RowPair& rows, const ResizeWeights& weights, std::int64_t x, int channels) {
  const Taps taps = taps_of(weights, x);
  for (std::size_t r = 0; r < 2; ++r) {
    for (int c = 0; c < channels; ++c) {
      const std::uint8_t* source = rows.source[r] + weights.first[x] * channels + c;
      std::int32_t sum = kHalf;
      for (std::int64_t k = 0; k < taps.count; ++k) sum += source[k * channels] * taps.weight[k];
      rows.output[r][x * channels + c] = to_byte(sum);
    }
  }
}

/// Output bytes [begin, end) of a row: sums over rows that are `stride` bytes apart.
void sum_rows(const std::uint8_t* source, std::int64_t stride, const Taps& taps,
              std::uint8_t* output, std::int64_t begin, std::int64_t end) {
  for (std::int64_t b = begin; b < end; ++b) {
    std::int32_t sum = kHalf;
    for (std::int64_t k = 0; k < taps.count; ++k) sum += source[k * stride + b] * taps.weight[k];
    output[b] = to_byte(sum);
  }
}

#if defined(__x86_64__)

/// Converts sums to bytes, stored in the lowest four of each half.
[[gnu::target("avx2")]] inline __m256i to_bytes(__m256i sum) {
  const __m256i shifted = _mm256_srai_epi32(sum, kWeightBits);
  const __m256i words = _mm256_packs_epi32(shifted, shifted);
  return _mm256_packus_epi16(words, words);
}

/// Loads a pixel and one more byte of each row into the halves of a vector.
[[gnu::target("avx2")]] void sum_columns_avx2(const RowPair& rows, const ResizeWeights& weights,
                                              std::int64_t x) {
  const Taps taps = taps_of(weights, x);
  const std::uint8_t* first = rows.source[0] + weights.first[x] * kChannels;
  const std::uint8_t* second = rows.source[1] + weights.first[x] * kChannels;
  __m256i sum = _mm256_set1_epi32(kHalf);
  for (std::int64_t k = 0; k < taps.count; ++k, first += kChannels, second += kChannels) {
    std::int32_t low = 0, high = 0;
    std::memcpy(&low, first, sizeof low);
    std::memcpy(&high, second, sizeof high);
    const __m128i both = _mm_insert_epi32(_mm_cvtsi32_si128(low), high, 1);
    const __m256i products =
        _mm256_mullo_epi32(_mm256_cvtepu8_epi32(both), _mm256_set1_epi32(taps.weight[k]));
    sum = _mm256_add_epi32(sum, products);
  }
  const __m256i bytes = to_bytes(sum);
  const std::int32_t low = _mm256_extract_epi32(bytes, 0), high = _mm256_extract_epi32(bytes, 4);
  std::memcpy(rows.output[0] + x * kChannels, &low, kChannels);
  std::memcpy(rows.output[1] + x * kChannels, &high, kChannels);
}

/// Computes output bytes in groups of sixteen; returns the number computed.
[[gnu::target("avx2")]] std::int64_t sum_rows_avx2(const std::uint8_t* source, std::int64_t stride,
                                                   const Taps& taps, std::uint8_t* output,
                                                   std::int64_t bytes) {
  std::int64_t b = 0;
  for (; b + 16 <= bytes; b += 16) {
    __m256i low = _mm256_set1_epi32(kHalf), high = low;
    for (std::int64_t k = 0; k < taps.count; ++k) {
      const auto* at = reinterpret_cast<const __m128i*>(source + k * stride + b);
      const __m128i values = _mm_loadu_si128(at);
      const __m256i weight = _mm256_set1_epi32(taps.weight[k]);
      const __m256i right = _mm256_cvtepu8_epi32(_mm_srli_si128(values, 8));
      low = _mm256_add_epi32(low, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(values), weight));
      high = _mm256_add_epi32(high, _mm256_mullo_epi32(right, weight));
    }
    const __m256i words = _mm256_packs_epi32(_mm256_srai_epi32(low, kWeightBits),
                                             _mm256_srai_epi32(high, kWeightBits));
    const __m256i ordered = _mm256_permute4x64_epi64(words, 0xD8);  // packing works within halves
    const __m128i result =
        _mm_packus_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(output + b), result);
  }
  return b;
}

#endif

void resize_two_rows(const RowPair& rows, const ResizeWeights& weights, int channels) {
  const auto count = static_cast<std::int64_t>(weights.first.size());
  if (channels != kChannels) {
    for (std::int64_t x = 0; x < count; ++x) sum_channels(rows, weights, x, channels);
    return;
  }
#if defined(__x86_64__)
  if (includes(cpu_isa(), Isa::v3)) {
    for (std::int64_t x = 0; x < count; ++x) sum_columns_avx2(rows, weights, x);
    return;
  }
#endif
  for (std::int64_t x = 0; x < count; ++x) sum_columns(rows, weights, x);
}

void resize_row(const std::uint8_t* source, std::int64_t stride, const Taps& taps,
                std::uint8_t* output) {
  std::int64_t done = 0;
#if defined(__x86_64__)
  if (includes(cpu_isa(), Isa::v3)) done = sum_rows_avx2(source, stride, taps, output, stride);
#endif
  sum_rows(source, stride, taps, output, done, stride);
}

}  // namespace

ResizeWeights fixed_point(const AxisWeights& weights) {
  ResizeWeights result{weights.first, weights.count, {}, weights.taps};
  result.values.resize(weights.values.size());
  std::transform(weights.values.begin(), weights.values.end(), result.values.begin(), fixed_weight);
  return result;
}

Image resize_horizontally(const Image& image, const ResizeWeights& weights) {
  Image result(image.height, static_cast<std::int64_t>(weights.first.size()), image.format);
  const auto row_bytes = static_cast<std::size_t>(image.width * image.format.bytes());
  std::vector<std::uint8_t> last(row_bytes + 1);  // the last row has no readable byte after it
  std::copy_n(image.at(image.height - 1, 0), row_bytes, last.begin());
  const auto row = [&](std::int64_t y) {
    return y == image.height - 1 ? last.data() : image.at(y, 0);
  };
  for (std::int64_t y = 0; y < result.height; y += 2) {
    const std::int64_t second = std::min(y + 1, result.height - 1);
    resize_two_rows({{row(y), row(second)}, {result.at(y, 0), result.at(second, 0)}}, weights,
                    image.format.channels);
  }
  return result;
}

Image resize_vertically(const Image& image, const ResizeWeights& weights) {
  Image result(static_cast<std::int64_t>(weights.first.size()), image.width, image.format);
  const std::int64_t row_bytes = image.width * image.format.bytes();
  for (std::int64_t y = 0; y < result.height; ++y) {
    resize_row(image.at(weights.first[y], 0), row_bytes, taps_of(weights, y), result.at(y, 0));
  }
  return result;
}

}  // namespace fovea
