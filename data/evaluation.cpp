// The numbers are rounded where timm's transforms round them.
#include "data/evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace fovea {
namespace {

constexpr std::int64_t kSmallImage = 32;  // up to here nothing is cropped away

std::int64_t scaled(std::int64_t side, double crop_pct) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(side) / crop_pct));
}

/// Just small enough for `size` to cover it.
ImageSize covered(const Image& image, ImageSize size) {
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double ratio =
      std::max(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
  return {std::max<std::int64_t>(1, static_cast<std::int64_t>(std::nearbyint(height / ratio))),
          std::max<std::int64_t>(1, static_cast<std::int64_t>(std::nearbyint(width / ratio)))};
}

}  // namespace

Image resize_for_evaluation(const Image& image, ImageSize size, double crop_pct, Filter filter) {
  check(crop_pct > 0 && crop_pct <= 1, "resize_for_evaluation: got crop_pct ", crop_pct,
        ", expected more than 0 and at most 1");
  const ImageSize scale = {scaled(size.height, crop_pct), scaled(size.width, crop_pct)};
  return center_crop(resize(image, covering_size(image, scale), filter), size);
}

ImageSize evaluation_scale(const EvaluationTransform& t) {
  check(t.crop.crop_pct > 0 && t.crop.crop_pct <= 1, "evaluation: got crop_pct ", t.crop.crop_pct,
        ", expected more than 0 and at most 1");
  return {scaled(t.size.height, t.crop.crop_pct), scaled(t.size.width, t.crop.crop_pct)};
}

Image prepare_for_evaluation(const Image& image, const EvaluationTransform& t) {
  const bool small = std::max(image.height, image.width) <= kSmallImage;
  const ImageSize scale = evaluation_scale(t);
  switch (t.crop.mode) {
    case CropMode::squash:
      return center_crop(resize(image, scale, t.crop.filter), t.size);
    case CropMode::border:
      return center_crop_or_pad(resize(image, covered(image, scale), t.crop.filter), t.size,
                                Padding::constant, mean_color(t.normalization));
    default:
      if (t.crop.mode == CropMode::automatic && small) return resize(image, t.size, t.crop.filter);
      return resize_for_evaluation(image, t.size, t.crop.crop_pct, t.crop.filter);
  }
}

Pipeline evaluation_pipeline(const EvaluationTransform& t) {
  Pipeline pipeline;
  pipeline.normalization = t.normalization;
  if (t.size == ImageSize{}) return pipeline;
  pipeline.steps.emplace_back(
      [t](const Image& image, Rng&) { return prepare_for_evaluation(image, t); });
  return pipeline;
}

}  // namespace fovea
