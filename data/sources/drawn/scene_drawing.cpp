// Places objects one after the other, and paints them in that order.
#include "data/sources/drawn/scene_drawing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fovea::drawing {
namespace {

constexpr double kUsualSide = 64;  // sizes of objects are for a scene of this side
constexpr int kPlaces = 20;        // tried for an object
constexpr std::int8_t kNobody = -1;

/// For each pixel the front object that it counts for, by its place in the scene.
class Owners {
 public:
  explicit Owners(ImageSize size)
      : width_(size.width), owner_(static_cast<std::size_t>(size.height * size.width), kNobody) {}

  [[nodiscard]] std::int8_t& at(const Spot& spot) { return owner_[spot.y * width_ + spot.x]; }

 private:
  std::int64_t width_;
  std::vector<std::int8_t> owner_;
};

/// The covered pixels of an object, of which only those near its centre are looked at.
void find_spots(SceneObject& object, Point center, ImageSize size) {
  const double reach = object.form.reach();
  const auto first = [reach](double at) {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(at - reach));
  };
  const auto end = [reach](double at, std::int64_t side) {
    return std::min(side, static_cast<std::int64_t>(at + reach) + 1);
  };
  PixelBox box{size.height, 0, size.width, 0};
  for (std::int64_t y = first(center.y); y < end(center.y, size.height); ++y) {
    for (std::int64_t x = first(center.x); x < end(center.x, size.width); ++x) {
      const Spot spot{
          y, x, object.form.cover(static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5)};
      if (spot.cover <= 0) continue;
      object.spots.push_back(spot);
      if (!spot.is_object()) continue;
      ++object.pixels;
      box = {std::min(box.top, y), std::max(box.bottom, y + 1), std::min(box.left, x),
             std::max(box.right, x + 1)};
    }
  }
  object.visible_pixels = object.pixels;
  object.box = box;
}

/// Whether enough is left of each earlier object; `left` becomes their visible pixels.
bool leaves_enough(const SceneObject& object, const std::vector<SceneObject>& earlier,
                   Owners& owners, std::array<std::int64_t, kMaxObjects>& left) {
  for (std::size_t k = 0; k < earlier.size(); ++k) left[k] = earlier[k].visible_pixels;
  for (const Spot& spot : object.spots)
    if (spot.is_object() && owners.at(spot) != kNobody) --left[owners.at(spot)];
  for (std::size_t k = 0; k < earlier.size(); ++k) {
    const auto least = kMinVisible * static_cast<double>(earlier[k].pixels);
    if (static_cast<double>(left[k]) < least) return false;
  }
  return object.pixels > 0;
}

/// Puts an object in front of the others, if a place for it is found.
void add_object(Scene& scene, Owners& owners, double unit, Rng& rng) {
  const std::int64_t label = rng.below(ClassForm::kShapes);
  const double size = 0.5 * unit * rng.uniform(10, 28), sine = rng.uniform(-0.2, 0.2);
  const Color before = scene.objects.empty() ? scene.background[0] : scene.objects.back().color;
  const Color color = contrasting_color({scene.background[0], scene.background[1], before}, rng);
  for (int place = 0; place < kPlaces; ++place) {
    const Point center{rng.uniform(0, static_cast<double>(scene.size.width)),
                       rng.uniform(0, static_cast<double>(scene.size.height))};
    SceneObject object{label, ClassForm(label, size, center, sine), color};
    find_spots(object, center, scene.size);
    std::array<std::int64_t, kMaxObjects> left{};
    if (!leaves_enough(object, scene.objects, owners, left)) continue;
    for (std::size_t k = 0; k < scene.objects.size(); ++k)
      scene.objects[k].visible_pixels = left[k];
    for (const Spot& spot : object.spots)
      if (spot.is_object()) owners.at(spot) = static_cast<std::int8_t>(scene.objects.size());
    scene.objects.push_back(std::move(object));
    return;
  }
}

/// A direction whose two parts need no trigonometry.
Point draw_direction(Rng& rng) {
  while (true) {
    const Point d{rng.uniform(-1, 1), rng.uniform(-1, 1)};
    const double length = std::sqrt(d.x * d.x + d.y * d.y);
    if (length > 0.1 && length <= 1) return {d.x / length, d.y / length};
  }
}

/// The background at a pixel centre; each colour is reached at the image's edge or beyond.
Color background_at(const Scene& scene, double x, double y) {
  const auto width = static_cast<double>(scene.size.width);
  const auto height = static_cast<double>(scene.size.height);
  const double along =
      (x / width - 0.5) * scene.direction.x + (y / height - 0.5) * scene.direction.y;
  return blend(scene.background[0], scene.background[1], std::clamp(0.5 + along, 0.0, 1.0));
}

}  // namespace

ImageSize draw_scene_size(std::int64_t side, Rng& rng) {
  switch (rng.below(5)) {
    case 0:
      return {side * 3 / 4, side};
    case 1:
      return {side, side * 5 / 4};
    default:
      return {side, side};
  }
}

Scene lay_out_scene(std::int64_t side, Rng& rng) {
  Scene scene{draw_scene_size(side, rng)};
  scene.background = {random_color(rng), random_color(rng)};
  scene.direction = draw_direction(rng);
  Owners owners(scene.size);
  const std::int64_t count = 1 + rng.below(kMaxObjects);
  const double unit = static_cast<double>(side) / kUsualSide;
  for (std::int64_t k = 0; k < count; ++k) add_object(scene, owners, unit, rng);
  return scene;
}

Image paint_scene(const Scene& scene, Rng& rng) {
  const auto [height, width] = scene.size;
  std::vector<Color> canvas(static_cast<std::size_t>(height * width));
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      canvas[y * width + x] =
          background_at(scene, static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5);
  for (const SceneObject& object : scene.objects) {
    for (const Spot& spot : object.spots) {
      Color& color = canvas[spot.y * width + spot.x];
      color = blend(color, object.color, spot.cover);
    }
  }
  Image image(height, width);
  for (std::size_t p = 0; p < canvas.size(); ++p) {
    const double grain = rng.uniform(-10, 10);
    for (std::size_t c = 0; c < 3; ++c)
      image.pixels[3 * p + c] =
          static_cast<std::uint8_t>(std::clamp(canvas[p][c] + grain + 0.5, 0.0, 255.0));
  }
  return image;
}

}  // namespace fovea::drawing
