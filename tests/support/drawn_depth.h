// A drawn data set with a dense target: tilted planes with brightness proportional to depth, and
// holes of unknown depth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/base/error.h"
#include "engine/rng.h"

namespace fovea::tests {

struct DrawnDepthOptions {
  std::int64_t size = 64;
  std::uint64_t seed = 0;
  ImageSize image{32, 32};
  Filter filter = Filter::nearest;  ///< filter for resizing the depth
  bool holes = true;
};

/// Depth at a point of the image, in pixels; at the middle of pixel (y, x): x + 0.5, y + 0.5.
struct DepthPlane {
  double corner = 0, per_x = 0, per_y = 0;
  [[nodiscard]] double at(double x, double y) const { return corner + per_x * x + per_y * y; }
};

/// Sample `index` is a function of (seed, index). Maps: "depth" f32 in 2 .. 8, 0 in holes; "valid"
/// u8, 1 where the depth is known. The image's levels are 255 (1 - depth / 10).
class DrawnDepth : public Dataset {
 public:
  explicit DrawnDepth(DrawnDepthOptions options = {}) : options_(options) {}

  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return options_.size; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] std::int64_t label(std::int64_t /*index*/) const override { return 0; }
  [[nodiscard]] ImageSize image_size() const override { return options_.image; }

  [[nodiscard]] DepthPlane plane(std::int64_t index) const {
    Rng rng = rng_of(index);
    const double middle = rng.uniform(4, 6);
    DepthPlane plane;
    plane.per_x = rng.uniform(-1, 1) / static_cast<double>(options_.image.width);
    plane.per_y = rng.uniform(-1, 1) / static_cast<double>(options_.image.height);
    const auto width = static_cast<double>(options_.image.width);
    const auto height = static_cast<double>(options_.image.height);
    plane.corner = middle - (plane.per_x * width + plane.per_y * height) / 2;
    return plane;
  }

  [[nodiscard]] Sample get(std::int64_t index) const override {
    check(index >= 0 && index < size(), "drawn depth: got index ", index);
    const ImageSize size = options_.image;
    const DepthPlane at = plane(index);
    const std::vector<Hole> holes = draw_holes(index);
    Sample sample{Image(size.height, size.width), 0, {}};
    Image depth(size.height, size.width, {PixelType::f32, 1});
    Image valid(size.height, size.width, {PixelType::u8, 1});
    for (std::int64_t y = 0; y < size.height; ++y) {
      for (std::int64_t x = 0; x < size.width; ++x) {
        const double px = static_cast<double>(x) + 0.5, py = static_cast<double>(y) + 0.5;
        const double value = at.at(px, py);
        for (int c = 0; c < 3; ++c)
          sample.image.at(y, x)[c] = static_cast<std::uint8_t>(255 * (1 - value / 10));
        if (inside(holes, px, py)) continue;
        *depth.values<float>(y, x) = static_cast<float>(value);
        *valid.values<std::uint8_t>(y, x) = 1;
      }
    }
    sample.targets.maps = {{"depth", std::move(depth), options_.filter, 0},
                           {"valid", std::move(valid), Filter::nearest, 0}};
    return sample;
  }

 private:
  static constexpr std::uint64_t kStream = 0x6465707468;  // "depth"

  struct Hole {
    double x, y, radius;
  };

  [[nodiscard]] Rng rng_of(std::int64_t index) const {
    return Rng(options_.seed, stream_of(kStream, static_cast<std::uint64_t>(index)));
  }

  [[nodiscard]] std::vector<Hole> draw_holes(std::int64_t index) const {
    if (!options_.holes) return {};
    Rng rng(options_.seed, stream_of(kStream + 1, static_cast<std::uint64_t>(index)));
    std::vector<Hole> holes;
    const auto width = static_cast<double>(options_.image.width);
    const auto height = static_cast<double>(options_.image.height);
    for (std::int64_t i = 0; i < 2; ++i) {
      const double x = rng.uniform(0, width), y = rng.uniform(0, height);
      holes.push_back({x, y, rng.uniform(2, 5)});
    }
    return holes;
  }

  static bool inside(const std::vector<Hole>& holes, double x, double y) {
    for (const Hole& hole : holes) {
      const double dx = x - hole.x, dy = y - hole.y;
      if (dx * dx + dy * dy < hole.radius * hole.radius) return true;
    }
    return false;
  }

  DrawnDepthOptions options_;
  std::vector<std::string> names_ = {"plane"};
};

}  // namespace fovea::tests
