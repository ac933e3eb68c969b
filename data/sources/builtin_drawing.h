// What the built-in pictures are drawn of: forms laid on a picture, colours, shading and grain.
//
// Only + - * / and sqrt are used, never fused: IEEE 754 defines them to the bit, so the pictures
// are the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>

#include "data/image.h"
#include "engine/rng.h"

namespace fovea::drawing {

inline constexpr std::int64_t kSide = 32;  ///< of a picture, in pixels

struct Point {
  double x = 0, y = 0;
};
using Color = std::array<double, 3>;  ///< 0 .. 255

/// The form of a class as it is laid on a picture. Classes 0 to 5 are shapes, disc to star, each
/// whole in the picture; 6 to 9 are patterns, stripes and checkerboard, which cover all of it.
class Form {
 public:
  static constexpr std::int64_t kShapes = 6, kPatterns = 4;

  /// Place, size and tilt are drawn: shapes of 18 to 26 pixels, stripes and fields of 2.5 to 5.
  Form(std::int64_t label, Rng& rng);
  /// A size that is given: half of a shape's side, or the width of a stripe or field, in pixels.
  Form(std::int64_t label, double size, Rng& rng);

  /// The share of the pixel around (x, y) that the form covers, in [0, 1].
  [[nodiscard]] double cover(double x, double y) const;

 private:
  std::int64_t label_;
  Point center_;
  double scale_;  ///< pixels per unit of the form
  double cosine_ = 1, sine_ = 0;
};

[[nodiscard]] Color random_color(Rng& rng);
/// One far enough from all of the others to be seen beside them.
[[nodiscard]] Color contrasting_color(std::initializer_list<Color> others, Rng& rng);
/// a, or b where the share is 1.
[[nodiscard]] Color blend(const Color& a, const Color& b, double share);

/// A picture of the colours at the middles of its pixels, with smooth random shading and grain.
[[nodiscard]] Image paint(const std::function<Color(double x, double y)>& color, Rng& rng);

}  // namespace fovea::drawing
