// Pictures of rooms: one ray per pixel, then holes in the depth.
#include "data/sources/drawn/rooms.h"

#include <algorithm>
#include <cmath>

#include "data/sources/drawn/rooms_scene.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr std::uint64_t kRooms = 0x726F6F6D73;    // "rooms"
constexpr double kNearest = 0.3, kFarthest = 10;  // metres that the sensor measures

/// Part of the picture without depth: an ellipse.
struct Hole {
  double x, y, radius_x, radius_y;

  [[nodiscard]] bool covers(double px, double py) const {
    const double dx = (px - x) / radius_x, dy = (py - y) / radius_y;
    return dx * dx + dy * dy < 1;
  }
};

/// Two ellipses that cover 2 % of the picture on average, what lies beyond its edges included.
std::array<Hole, 2> draw_holes(Rng& rng) {
  constexpr ImageSize size = Rooms::kSize;
  const auto pixels = static_cast<double>(size.height * size.width);
  std::array<Hole, 2> holes{};
  for (Hole& hole : holes) {
    const double area = rng.uniform(0.006, 0.0165) * pixels, stretch = rng.uniform(0.6, 1.6);
    const double radius = std::sqrt(area / M_PI);
    hole = {rng.uniform(0, static_cast<double>(size.width)),
            rng.uniform(0, static_cast<double>(size.height)), radius * stretch, radius / stretch};
  }
  return holes;
}

void paint(std::uint8_t* pixel, const rooms::Albedo& color) {
  for (std::size_t c = 0; c < color.size(); ++c)
    pixel[c] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(color[c], 0.0, 1.0)));
}

Sample draw(Rng& rng) {
  constexpr ImageSize size = Rooms::kSize;
  const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
  const rooms::RoomScene scene(rng);
  const std::array<Hole, 2> holes = draw_holes(rng);
  Sample sample{Image(size.height, size.width), 0, {}};
  Image depth(size.height, size.width, {PixelType::f32, 1});
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      const double px = static_cast<double>(x) + 0.5, py = static_cast<double>(y) + 0.5;
      const auto seen = scene.look(scene.ray(px / width - 0.5, (py - height / 2) / width));
      paint(sample.image.at(y, x), seen.color);
      const bool is_hole = std::any_of(holes.begin(), holes.end(),
                                       [&](const Hole& hole) { return hole.covers(px, py); });
      const bool is_known = !is_hole && seen.depth > kNearest && seen.depth <= kFarthest;
      *depth.values<float>(y, x) = is_known ? static_cast<float>(seen.depth) : 0;
    }
  }
  sample.targets.maps = {{"depth", std::move(depth), Filter::nearest, 0}};
  return sample;
}

}  // namespace

Rooms::Rooms(Split split, RoomsOptions options)
    : split_(split),
      seed_(options.seed),
      size_(split == Split::train ? options.train_size : options.test_size) {
  check(size_ >= 1, "rooms: got a size of ", size_, ", expected 1 or more");
}

const std::vector<std::string>& Rooms::class_names() const {
  static const std::vector<std::string> names = {"room"};
  return names;
}

Sample Rooms::get(std::int64_t index) const {
  check_index(index, "rooms");
  Rng rng(seed_, stream_of(kRooms, static_cast<std::uint64_t>(split_), index));
  return draw(rng);
}

void Rooms::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name.append(std::to_string(seed_)).append("/").append(std::to_string(index));
  entry.label = 0;
}

}  // namespace fovea
