// Random erasing: draws boxes and fills them.
#include "data/augment/erase.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr int kEraseAttempts = 10;

void check_options(const EraseOptions& o) {
  check(o.probability >= 0 && o.probability <= 1, "random erasing: got probability ", o.probability,
        ", expected 0 to 1");
  check(o.count >= 1 && o.count <= 1000, "random erasing: got count ", o.count,
        ", expected 1 to 1000");
}

std::vector<float> draw_fill(EraseFill kind, std::int64_t area, Rng& rng) {
  std::vector<float> fill(static_cast<std::size_t>(
      kind == EraseFill::pixel ? Image::kChannels * area : Image::kChannels));
  if (kind == EraseFill::constant) return fill;
  for (std::size_t i = 0; i < fill.size(); i += 2) {  // Box-Muller gives two numbers
    const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
    const double angle = 2 * std::numbers::pi * rng.uniform();
    fill[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < fill.size()) fill[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return fill;
}

}  // namespace

ImageSize erased_size(double area, double ratio) {
  return {static_cast<std::int64_t>(std::nearbyint(std::sqrt(area * ratio))),
          static_cast<std::int64_t>(std::nearbyint(std::sqrt(area / ratio)))};
}

PixelBox draw_erased_box(const EraseOptions& options, ImageSize image, std::int64_t boxes,
                         Rng& rng) {
  const auto area = static_cast<double>(image.height * image.width);
  for (int attempt = 0; attempt < kEraseAttempts; ++attempt) {
    const double wanted =
        rng.uniform(options.area_low, options.area_high) * area / static_cast<double>(boxes);
    const double ratio =
        std::exp(rng.uniform(std::log(options.ratio_low), std::log(options.ratio_high)));
    const ImageSize size = erased_size(wanted, ratio);
    if (size.height >= image.height || size.width >= image.width) continue;
    const std::int64_t top = rng.below(image.height - size.height + 1);
    const std::int64_t left = rng.below(image.width - size.width + 1);
    return {top, top + size.height, left, left + size.width};
  }
  return {};
}

void erase_box(float* values, ImageSize image, const PixelBox& box, std::span<const float> fill) {
  const std::int64_t height = box.bottom - box.top, width = box.right - box.left;
  const bool per_pixel = std::ssize(fill) == Image::kChannels * height * width;
  check(per_pixel || std::ssize(fill) == Image::kChannels, "erase_box: got ", fill.size(),
        " values, expected 3 or 3 for each of ", height, " x ", width, " pixels");
  check(box.top >= 0 && box.left >= 0 && height >= 0 && width >= 0 && box.bottom <= image.height &&
            box.right <= image.width,
        "erase_box: got rows ", box.top, " to ", box.bottom, " and columns ", box.left, " to ",
        box.right, ", expected a part of ", image.height, " x ", image.width);
  for (std::int64_t c = 0; c < Image::kChannels; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      float* row = values + (c * image.height + box.top + y) * image.width + box.left;
      if (per_pixel) {
        std::copy_n(fill.data() + (c * height + y) * width, width, row);
      } else {
        std::fill_n(row, width, fill[static_cast<std::size_t>(c)]);
      }
    }
  }
}

std::vector<Erasure> draw_erasures(const EraseOptions& options, ImageSize image, Rng& rng) {
  check_options(options);
  if (rng.uniform() >= options.probability) return {};
  const std::int64_t boxes = options.count == 1 ? 1 : 1 + rng.below(options.count);
  std::vector<Erasure> erasures;
  for (std::int64_t i = 0; i < boxes; ++i) {
    const PixelBox box = draw_erased_box(options, image, boxes, rng);
    if (box.area() > 0) erasures.push_back({box, draw_fill(options.fill, box.area(), rng)});
  }
  return erasures;
}

}  // namespace fovea
