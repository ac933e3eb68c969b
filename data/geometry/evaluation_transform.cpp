// Evaluation geometry. Rounds numbers where timm's transforms round them.
#include "data/geometry/evaluation_transform.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/geometry/adm_crop.h"
#include "data/geometry/detr_resize.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

std::int64_t scaled(std::int64_t side, double crop_pct) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(side) / crop_pct));
}

/// The image scaled to just fit inside `size`.
ImageSize covered(ImageSize image, ImageSize size) {
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double ratio =
      std::max(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
  return {std::max<std::int64_t>(1, static_cast<std::int64_t>(std::nearbyint(height / ratio))),
          std::max<std::int64_t>(1, static_cast<std::int64_t>(std::nearbyint(width / ratio)))};
}

using Moves = std::vector<Geometry>;

Moves scale_and_crop(ImageSize scale, ImageSize size, Filter filter) {
  return {geometry::Resize{scale, filter}, geometry::Crop{center_box(scale, size)}};
}

}  // namespace

ImageSize evaluation_scale(const EvaluationTransform& t) {
  check(t.crop.crop_pct > 0 && t.crop.crop_pct <= 1, "evaluation: got crop_pct ", t.crop.crop_pct,
        ", expected more than 0 and at most 1");
  return {scaled(t.size.height, t.crop.crop_pct), scaled(t.size.width, t.crop.crop_pct)};
}

Moves evaluation_moves(ImageSize image, const EvaluationTransform& t) {
  if (t.size == ImageSize{}) return {};
  const bool small = std::max(image.height, image.width) <= kSmallImage;
  const ImageSize scale = evaluation_scale(t);
  switch (t.crop.mode) {
    case CropMode::keep:
      return {};
    case CropMode::adm:
      return adm_crop_moves(image, square_side(t.size));
    case CropMode::detr:
      return detr_moves(image, std::min(t.size.height, t.size.width), t.crop.filter);
    case CropMode::squash:
      return scale_and_crop(scale, t.size, t.crop.filter);
    case CropMode::border: {
      const ImageSize whole = covered(image, scale);
      return {geometry::Resize{whole, t.crop.filter},
              geometry::Crop{center_box_or_pad(whole, t.size), Padding::constant,
                             mean_color(t.normalization)}};
    }
    default:
      if (t.crop.mode == CropMode::automatic && small)
        return {geometry::Resize{t.size, t.crop.filter}};
      return scale_and_crop(covering_size(image, scale), t.size, t.crop.filter);
  }
}

Image prepare_for_evaluation(Image image, const EvaluationTransform& t) {
  const Moves moves = evaluation_moves(image.size(), t);
  return moved(Sample{std::move(image)}, moves).image;
}

Pipeline evaluation_pipeline(const EvaluationTransform& t) {
  Pipeline pipeline;
  pipeline.normalization = t.normalization;
  if (t.size == ImageSize{}) return pipeline;
  pipeline.steps.push_back(
      geometry_step([t](ImageSize size, Rng&) { return evaluation_moves(size, t); }));
  return pipeline;
}

}  // namespace fovea
