// Bilinear and bicubic sampling, one row of points at a time. Private to data/.
#pragma once

#include <cstdint>
#include <vector>

#include "data/augment/affine.h"

namespace fovea {

struct PixelPoint {
  double x, y;
};

/// Maps a point. Only for files compiled without fused multiply-add.
inline PixelPoint apply(const AffineMap& map, double x, double y) {
  return {map.xx * x + map.xy * y + map.x0, map.yx * x + map.yy * y + map.y0};
}

/// An image with four bytes per pixel and replicated edges, so that the neighbours of every inside
/// point can be read without bounds checks. Not for an image without pixels.
class Surface {
 public:
  /// Bytes per pixel: the channels and a fourth byte, as SIMD instructions require.
  static constexpr int kLanes = 4;

  explicit Surface(const Image& image);

  /// Pixel (y, x); valid from two pixels before the first row and column to two after the last.
  [[nodiscard]] const std::uint8_t* at(std::int64_t y, std::int64_t x) const {
    return bytes_.data() + (y + kBorder) * stride_ + (x + kBorder) * kLanes;
  }

 private:
  static constexpr int kBorder = 2;

  std::uint8_t* row(std::int64_t y) { return bytes_.data() + (y + kBorder) * stride_; }
  void spread_row(const Image& image, std::int64_t y);
  void copy_row(std::int64_t from, std::int64_t to);

  std::int64_t stride_;
  std::vector<std::uint8_t> bytes_;
};

/// One output row: its pixels, and the map of their centres.
struct MappedRow {
  const AffineMap& map;
  double y;
  std::uint8_t* pixels;

  [[nodiscard]] PixelPoint source(std::int64_t x) const {
    return apply(map, static_cast<double>(x) + 0.5, y);
  }
};

/// The pixels [begin, end) of a row.
struct Span {
  std::int64_t begin, end;
};

/// Writes the pixels of the span, all of which map to the inside of the image.
void sample_bilinear(const Surface& source, const MappedRow& row, const Span& span);
void sample_bicubic(const Surface& source, const MappedRow& row, const Span& span);

}  // namespace fovea
