// Preprocessing for evaluation, as in timm.
#pragma once

#include <cstdint>
#include <vector>

#include "data/pipeline.h"

namespace fovea {

/// CropMode::automatic stretches images up to this size instead of cropping them.
inline constexpr std::int64_t kSmallImage = 32;

/// timm's ways to bring an image to the evaluation size.
enum class CropMode {
  automatic,  ///< center, but images up to kSmallImage are stretched
  center,     ///< shorter side scaled to size / crop_pct, then a center crop
  squash,     ///< both sides scaled to size / crop_pct, changing the ratio, then a center crop
  border,     ///< longer side scaled to size / crop_pct, padded with the mean colour
  adm,        ///< adm_crop_moves(), without crop_pct and filter; for square sizes
  keep,       ///< the image as it is, whatever the size
  detr,       ///< detr_moves() with the shorter side of the size; images differ
};
template <>
inline constexpr auto kNames<CropMode> =
    std::to_array<Named<CropMode>>({{CropMode::automatic, "automatic"},
                                    {CropMode::center, "center"},
                                    {CropMode::squash, "squash"},
                                    {CropMode::border, "border"},
                                    {CropMode::adm, "adm"},
                                    {CropMode::keep, "keep"},
                                    {CropMode::detr, "detr"}});

/// timm's crop_pct, crop_mode and interpolation, as in flags and checkpoints.
struct EvaluationCrop {
  double crop_pct = 0.875;  ///< visible share of the image's shorter side; in (0, 1]
  CropMode mode = CropMode::automatic;
  Filter filter = Filter::bicubic;
};

/// The preprocessing from an image to the model's input.
struct EvaluationTransform {
  ImageSize size{};  ///< output size; 0 x 0 keeps the image size
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};
};

/// size / crop_pct, rounded down.
[[nodiscard]] ImageSize evaluation_scale(const EvaluationTransform& transform);
/// The moves that bring an image of this size to the evaluation size. The usual one for
/// photographs is CropMode::center: scaled so that `size` covers the fraction crop_pct of the
/// shorter side, then a center crop. Throws unless 0 < crop_pct <= 1.
[[nodiscard]] std::vector<Geometry> evaluation_moves(ImageSize image,
                                                     const EvaluationTransform& transform);
[[nodiscard]] Image prepare_for_evaluation(Image image, const EvaluationTransform& transform);
/// The pipeline has no randomness.
[[nodiscard]] Pipeline evaluation_pipeline(const EvaluationTransform& transform);

}  // namespace fovea
