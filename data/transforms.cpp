// Crops, flips, normalisation and the pipelines made of them.
#include "data/transforms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/check.h"

namespace fovea {
namespace {

constexpr std::int64_t kSmallImage = 32;  // up to here nothing is cropped away for evaluation

std::int64_t scaled(std::int64_t side, double crop_pct) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(side) / crop_pct));
}

/// The image's shape with its shorter side as given (torchvision's Resize: rounded down).
ImageSize shorter_side(const Image& image, std::int64_t shorter) {
  const auto longer = [shorter](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<double>(shorter * a) / static_cast<double>(b));
  };
  return image.height <= image.width ? ImageSize{shorter, longer(image.width, image.height)}
                                     : ImageSize{longer(image.height, image.width), shorter};
}

/// The image's shape, just large enough to cover `size` (timm's ResizeKeepRatio: rounded to even).
ImageSize covering(const Image& image, ImageSize size) {
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double ratio =
      std::min(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
  return {static_cast<std::int64_t>(std::nearbyint(height / ratio)),
          static_cast<std::int64_t>(std::nearbyint(width / ratio))};
}

/// (whole - part) / 2, halves to even.
std::int64_t centered(std::int64_t whole, std::int64_t part) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(whole - part) / 2));
}

}  // namespace

Image crop(const Image& image, std::int64_t top, std::int64_t left, ImageSize size) {
  Image result(size.height, size.width);
  const std::int64_t x0 = std::max<std::int64_t>(0, -left);
  const std::int64_t x1 = std::min(size.width, image.width - left);
  if (x0 >= x1) return result;
  for (std::int64_t y = std::max<std::int64_t>(0, -top);
       y < std::min(size.height, image.height - top); ++y)
    std::copy_n(image.at(y + top, x0 + left), (x1 - x0) * Image::kChannels, result.at(y, x0));
  return result;
}

Image center_crop(const Image& image, ImageSize size) {
  return crop(image, centered(image.height, size.height), centered(image.width, size.width), size);
}

Image flip_horizontal(Image image) {
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width / 2; ++x)
      std::swap_ranges(image.at(y, x), image.at(y, x) + Image::kChannels,
                       image.at(y, image.width - 1 - x));
  return image;
}

Image random_crop(const Image& image, std::int64_t padding, Rng& rng) {
  check(padding >= 0, "random_crop: got padding ", padding, ", expected 0 or more");
  const std::int64_t top = rng.below(2 * padding + 1) - padding;
  const std::int64_t left = rng.below(2 * padding + 1) - padding;
  return crop(image, top, left, {image.height, image.width});
}

Image random_flip(Image image, double probability, Rng& rng) {
  return rng.uniform() < probability ? flip_horizontal(std::move(image)) : image;
}

Image resize_for_evaluation(const Image& image, ImageSize size, double crop_pct, Filter filter) {
  check(crop_pct > 0 && crop_pct <= 1, "resize_for_evaluation: got crop_pct ", crop_pct,
        ", expected more than 0 and at most 1");
  const ImageSize cover = {scaled(size.height, crop_pct), scaled(size.width, crop_pct)};
  const ImageSize whole =
      size.height == size.width ? shorter_side(image, cover.height) : covering(image, cover);
  return center_crop(resize(image, whole, filter), size);
}

void normalize(const Image& image, const Normalization& normalization, float* output) {
  const std::int64_t area = image.height * image.width;
  for (int c = 0; c < Image::kChannels; ++c) {
    std::array<float, 256> table;
    for (std::size_t v = 0; v < table.size(); ++v)
      table[v] = (static_cast<float>(v) / 255 - normalization.mean[c]) / normalization.deviation[c];
    for (std::int64_t i = 0; i < area; ++i)
      output[c * area + i] = table[image.pixels[i * Image::kChannels + c]];
  }
}

Image Pipeline::apply(Image image, Rng& rng) const {
  for (const Step& step : steps) image = step(std::move(image), rng);
  return image;
}

Pipeline training_pipeline(const AugmentOptions& options) {
  Pipeline pipeline;
  pipeline.normalization = options.normalization;
  if (options.size != ImageSize{}) {
    pipeline.steps.emplace_back(
        [size = options.size](Image image, Rng&) { return resize(image, size); });
  }
  if (options.crop_padding > 0) {
    pipeline.steps.emplace_back([padding = options.crop_padding](const Image& image, Rng& rng) {
      return random_crop(image, padding, rng);
    });
  }
  if (options.flip > 0) {
    pipeline.steps.emplace_back([probability = options.flip](Image image, Rng& rng) {
      return random_flip(std::move(image), probability, rng);
    });
  }
  return pipeline;
}

Pipeline evaluation_pipeline(const EvaluationOptions& options) {
  Pipeline pipeline;
  pipeline.normalization = options.normalization;
  if (options.size == ImageSize{}) return pipeline;
  pipeline.steps.emplace_back([options](const Image& image, Rng&) {
    if (std::max(image.height, image.width) <= kSmallImage) return resize(image, options.size);
    return resize_for_evaluation(image, options.size, options.crop_pct);
  });
  return pipeline;
}

}  // namespace fovea
