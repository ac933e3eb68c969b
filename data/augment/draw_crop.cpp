// Boxes and sizes of random crops. Rounds like Python: half to even.
#include "data/augment/draw_crop.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr int kAttempts = 10;

std::int64_t rounded(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

void check_range(const CropRange& r) {
  const bool ok = r.scale_low > 0 && r.scale_low <= r.scale_high && r.ratio_low > 0 &&
                  r.ratio_low <= r.ratio_high && r.scale_high <= 1e3 && r.ratio_high <= 1e3;
  check(ok, "random crop: got scale ", r.scale_low, " to ", r.scale_high, " and ratio ",
        r.ratio_low, " to ", r.ratio_high, ", expected 0 < low <= high <= 1000");
}

double draw_ratio(const CropRange& range, Rng& rng) {
  return std::exp(rng.uniform(std::log(range.ratio_low), std::log(range.ratio_high)));
}

/// The largest central box with a ratio in range.
PixelBox central_box(ImageSize image, const CropRange& range) {
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  ImageSize size = image;
  if (width / height < range.ratio_low) size.height = rounded(width / range.ratio_low);
  if (width / height > range.ratio_high) size.width = rounded(height * range.ratio_high);
  const std::int64_t top = (image.height - size.height) / 2, left = (image.width - size.width) / 2;
  return {top, top + size.height, left, left + size.width};
}

void check_crop(ImageSize image, const CropRange& range) {
  check_range(range);
  check(image.height >= 1 && image.width >= 1, "random crop: got an image of ", image.height, " x ",
        image.width, ", expected at least 1 x 1");
}

/// A size from a random share of the area and a random ratio; may exceed the image or be empty.
ImageSize draw_size(ImageSize image, const CropRange& range, Rng& rng) {
  const auto area = static_cast<double>(image.height * image.width);
  const double wanted = rng.uniform(range.scale_low, range.scale_high) * area;
  const double ratio = draw_ratio(range, rng);
  const std::int64_t width = rounded(std::sqrt(wanted * ratio));
  return {rounded(std::sqrt(wanted / ratio)), width};
}

PixelBox draw_place(ImageSize image, ImageSize size, Rng& rng) {
  const std::int64_t top = rng.below(image.height - size.height + 1);
  const std::int64_t left = rng.below(image.width - size.width + 1);
  return {top, top + size.height, left, left + size.width};
}

}  // namespace

PixelBox draw_padded_crop(ImageSize image, std::int64_t padding, Rng& rng) {
  check(padding >= 0, "random crop: got padding ", padding, ", expected 0 or more");
  const std::int64_t top = rng.below(2 * padding + 1) - padding;
  const std::int64_t left = rng.below(2 * padding + 1) - padding;
  return {top, top + image.height, left, left + image.width};
}

PixelBox draw_resized_crop(ImageSize image, const CropRange& range, Rng& rng) {
  check_crop(image, range);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const ImageSize size = draw_size(image, range, rng);
    const bool fits = size.width >= 1 && size.height >= 1 && size.width <= image.width &&
                      size.height <= image.height;
    if (fits) return draw_place(image, size, rng);
  }
  return central_box(image, range);
}

PixelBox draw_resized_crop_once(ImageSize image, const CropRange& range, Rng& rng) {
  check_crop(image, range);
  const ImageSize size = draw_size(image, range, rng);
  return draw_place(image,
                    {std::clamp<std::int64_t>(size.height, 1, image.height),
                     std::clamp<std::int64_t>(size.width, 1, image.width)},
                    rng);
}

ImageSize draw_kept_ratio(ImageSize image, ImageSize target, const CropRange& range, Rng& rng) {
  check_range(range);
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double ratio = std::min(height / static_cast<double>(target.height),
                                width / static_cast<double>(target.width));
  double tall = 1, wide = 1;
  if (rng.uniform() < 0.5)
    tall = wide = 1 / std::sqrt(rng.uniform(range.scale_low, range.scale_high));
  if (rng.uniform() < 0.5) {
    const double aspect = std::sqrt(draw_ratio(range, rng));
    tall /= aspect;
    wide *= aspect;
  }
  return {std::max<std::int64_t>(1, rounded(height * tall / ratio)),
          std::max<std::int64_t>(1, rounded(width * wide / ratio))};
}

}  // namespace fovea
