// How an image is shown to a model in evaluation, in timm's ways.
#pragma once

#include <vector>

#include "data/pipeline.h"

namespace fovea {

/// timm's ways to fit an image to the size of evaluation.
enum class CropMode {
  automatic,  ///< center, but images of at most 32 pixels are stretched
  center,     ///< the middle of the image, its shorter side scaled to size / crop_pct
  squash,     ///< both sides scaled to size / crop_pct, ratio lost, the middle of that
  border,     ///< the longer side scaled to size / crop_pct, the mean colour around
};
template <>
inline constexpr auto kNames<CropMode> =
    std::to_array<Named<CropMode>>({{CropMode::automatic, "automatic"},
                                    {CropMode::center, "center"},
                                    {CropMode::squash, "squash"},
                                    {CropMode::border, "border"}});

/// timm's crop_pct, crop_mode and interpolation, as flags and checkpoints say them.
struct EvaluationCrop {
  double crop_pct = 0.875;  ///< share of the image's shorter side that is seen; in (0, 1]
  CropMode mode = CropMode::automatic;
  Filter filter = Filter::bicubic;
};

/// From the image to the model's input.
struct EvaluationTransform {
  ImageSize size{};  ///< of the result; 0 x 0 leaves images as they are
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};
};

/// size / crop_pct, rounded down.
[[nodiscard]] ImageSize evaluation_scale(const EvaluationTransform& transform);
/// How an image of this size comes to the size of evaluation. The usual way to show a photograph to
/// a model is CropMode::center: scaled so that `size` covers the fraction crop_pct of the shorter
/// side, then the middle. Throws unless 0 < crop_pct <= 1.
[[nodiscard]] std::vector<Geometry> evaluation_moves(ImageSize image,
                                                     const EvaluationTransform& transform);
[[nodiscard]] Image prepare_for_evaluation(Image image, const EvaluationTransform& transform);
/// No randomness.
[[nodiscard]] Pipeline evaluation_pipeline(const EvaluationTransform& transform);

}  // namespace fovea
