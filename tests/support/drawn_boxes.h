// A drawn detection data set: rectangles and discs on images of different sizes. Boxes are exact,
// because they are computed from the drawn pixels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/base/error.h"
#include "engine/rng.h"

namespace fovea::tests {

struct DrawnBoxesOptions {
  std::int64_t size = 64;
  std::uint64_t seed = 0;
  ImageSize least{40, 40}, most{72, 72};  ///< smallest and largest image size
};

/// Sample `index` is a function of (seed, index). An image has up to three objects that do not
/// touch, in order red, green, blue, on dark gray; every seventh image has none. Class 0 is a
/// rectangle, 1 a disc.
class DrawnBoxes : public Dataset {
 public:
  explicit DrawnBoxes(DrawnBoxesOptions options = {}) : options_(options) {}

  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return options_.size; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] std::int64_t label(std::int64_t /*index*/) const override { return 0; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    check(index >= 0 && index < size(), "drawn boxes: got index ", index);
    Rng rng(options_.seed, stream_of(kStream, static_cast<std::uint64_t>(index)));
    const ImageSize image{between(options_.least.height, options_.most.height, rng),
                          between(options_.least.width, options_.most.width, rng)};
    Sample sample{Image(image.height, image.width), 0, {}};
    std::fill(sample.image.pixels.begin(), sample.image.pixels.end(),
              static_cast<std::uint8_t>(20 + rng.below(30)));
    std::vector<ObjectBox>& boxes = sample.targets.boxes.emplace();
    const std::int64_t objects = index % 7 == 6 ? 0 : 1 + rng.below(3);
    for (std::int64_t k = 0; k < objects; ++k) boxes.push_back(draw(sample.image, k, rng));
    return sample;
  }

  /// True if more than half of the pixel shows object `k` of its image.
  [[nodiscard]] static bool shows(const Image& image, std::int64_t y, std::int64_t x,
                                  std::int64_t k) {
    const std::uint8_t* color = image.at(y, x);
    int others = 0;
    for (std::int64_t c = 0; c < 3; ++c)
      if (c != k) others = std::max<int>(others, color[c]);
    return color[k] - others > kContrast / 2;
  }
  /// The bounding box of the pixels that show object `k`; an empty box if none does.
  [[nodiscard]] static ObjectBox around(const Image& image, std::int64_t k) {
    ObjectBox box{1e9F, 1e9F, -1e9F, -1e9F, 0};
    for (std::int64_t y = 0; y < image.height; ++y) {
      for (std::int64_t x = 0; x < image.width; ++x) {
        if (!shows(image, y, x, k)) continue;
        const auto left = static_cast<float>(x), top = static_cast<float>(y);
        box = {std::min(box.x0, left), std::min(box.y0, top), std::max(box.x1, left + 1),
               std::max(box.y1, top + 1), 0};
      }
    }
    return box.x0 > box.x1 ? ObjectBox{} : box;
  }

 private:
  static constexpr std::uint64_t kStream = 0x626F786573;  // "boxes"
  static constexpr int kDark = 20, kContrast = 200;

  /// A random integer in [low, high].
  static std::int64_t between(std::int64_t low, std::int64_t high, Rng& rng) {
    return low + rng.below(high - low + 1);
  }

  /// Draws object `k` in its own quarter of the image.
  static ObjectBox draw(Image& image, std::int64_t k, Rng& rng) {
    constexpr std::int64_t kMinSide = 8;
    const std::int64_t tall = image.height / 2, wide = image.width / 2;
    const std::int64_t label = rng.below(2);
    const std::int64_t height = between(kMinSide, tall - 2, rng);
    const std::int64_t width =
        label == 1 ? std::min(height, wide - 2) : between(kMinSide, wide - 2, rng);
    const std::int64_t top = k / 2 * tall + 1 + rng.below(tall - 1 - height);
    const std::int64_t left = k % 2 * wide + 1 + rng.below(wide - 1 - width);
    return label == 0 ? paint(image, k, {top, top + height, left, left + width}, label)
                      : paint(image, k, {top, top + width, left, left + width}, label);
  }

  /// Paints the whole box, or the disc inscribed in it.
  static ObjectBox paint(Image& image, std::int64_t k, const PixelBox& box, std::int64_t label) {
    const double radius = static_cast<double>(box.right - box.left) / 2;
    for (std::int64_t y = box.top; y < box.bottom; ++y) {
      for (std::int64_t x = box.left; x < box.right; ++x) {
        const double dx = static_cast<double>(x - box.left) + 0.5 - radius;
        const double dy = static_cast<double>(y - box.top) + 0.5 - radius;
        if (label == 1 && dx * dx + dy * dy > radius * radius) continue;
        for (std::int64_t c = 0; c < 3; ++c)
          image.at(y, x)[c] = static_cast<std::uint8_t>(c == k ? kDark + kContrast : kDark);
      }
    }
    return {static_cast<float>(box.left), static_cast<float>(box.top),
            static_cast<float>(box.right), static_cast<float>(box.bottom), label};
  }

  DrawnBoxesOptions options_;
  std::vector<std::string> names_ = {"rectangle", "disc"};
};

}  // namespace fovea::tests
