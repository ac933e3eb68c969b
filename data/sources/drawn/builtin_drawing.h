// The elements of the built-in pictures: forms, colours, shading and grain.
//
// Uses only + - * / and sqrt, never fused: IEEE 754 defines these exactly, so the pictures are
// bit-identical on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "data/image.h"
#include "engine/rng.h"

namespace fovea::drawing {

inline constexpr std::int64_t kSide = 32;  ///< side of a picture, in pixels

struct Point {
  double x = 0, y = 0;
};
using Color = std::array<double, 3>;  ///< 0 .. 255

/// A class's form, placed on a picture. Classes 0 to 5 are shapes, disc to star, completely inside
/// the picture; 6 to 9 are patterns, stripes and checkerboard, which cover the whole picture.
class ClassForm {
 public:
  static constexpr std::int64_t kShapes = 6, kPatterns = 4;
  /// The names of all classes: shapes, then patterns.
  [[nodiscard]] static const std::vector<std::string>& names();

  /// Draws position, size and tilt: shapes of 18 to 26 pixels, stripes and fields of 2.5 to 5.
  ClassForm(std::int64_t label, Rng& rng);
  /// With a given size: half the side of a shape, or the width of a stripe or field, in pixels.
  ClassForm(std::int64_t label, double size, Rng& rng);
  /// A shape of that size with its centre at `center`; `sine` is that of its tilt.
  ClassForm(std::int64_t label, double size, Point center, double sine);

  /// The share of the pixel around (x, y) that the form covers, in [0, 1].
  [[nodiscard]] double cover(double x, double y) const;
  /// No pixel of a shape is further than this from its centre, in x or in y.
  [[nodiscard]] double reach() const { return kFarthest * scale_ + 1; }

 private:
  static constexpr double kFarthest = 1.25;  // a corner of the triangle: 1.21 units

  std::int64_t label_;
  Point center_;
  double scale_;  ///< pixels per unit of the form
  double cosine_ = 1, sine_ = 0;
};

[[nodiscard]] Color random_color(Rng& rng);
/// A colour that contrasts with each of the others.
[[nodiscard]] Color contrasting_color(std::initializer_list<Color> others, Rng& rng);
/// Interpolates from a (share 0) to b (share 1).
[[nodiscard]] Color blend(const Color& a, const Color& b, double share);

/// Paints the colour at each pixel centre, with smooth random shading and grain.
[[nodiscard]] Image paint(const std::function<Color(double x, double y)>& color, Rng& rng);

}  // namespace fovea::drawing
