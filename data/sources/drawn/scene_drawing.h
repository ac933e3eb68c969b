// Scenes of the built-in shapes: where the objects are, and the picture of them.
//
// Like the built-in pictures, scenes are bit-identical on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/sources/drawn/builtin_drawing.h"

namespace fovea::drawing {

/// A pixel that an object covers, at least in part.
struct Spot {
  std::int64_t y = 0, x = 0;
  double cover = 0;  ///< in (0, 1]

  /// Whether the pixel counts as the object's.
  [[nodiscard]] bool is_object() const { return cover >= 0.5; }
};

struct SceneObject {
  std::int64_t label;
  ClassForm form;
  Color color{};
  std::vector<Spot> spots{};                    ///< inside the image, whether hidden or not
  PixelBox box{};                               ///< around the pixels that count
  std::int64_t pixels = 0, visible_pixels = 0;  ///< how many count, and how many later ones leave
};

/// Objects from back to front before a gradient of two colours.
struct Scene {
  ImageSize size;
  std::array<Color, 2> background{};
  Point direction{};  ///< of the gradient, as a unit vector
  std::vector<SceneObject> objects{};
};

inline constexpr std::int64_t kMaxObjects = 6;
/// At least this share of each object's pixels is visible.
inline constexpr double kMinVisible = 0.4;

/// The size of a scene: side x side or, for two in five, 3/4 side x side or side x 5/4 side. It is
/// the first number that lay_out_scene() draws.
[[nodiscard]] ImageSize draw_scene_size(std::int64_t side, Rng& rng);
/// Draws 1 to 6 shapes. Their centres are anywhere in the image and their sides U(10, 28) pixels
/// for a side of 64. An object that would hide too much of an earlier one is moved elsewhere, and
/// left out if 20 places fail.
[[nodiscard]] Scene lay_out_scene(std::int64_t side, Rng& rng);
/// Paints the scene with smooth edges and grain.
[[nodiscard]] Image paint_scene(const Scene& scene, Rng& rng);

}  // namespace fovea::drawing
