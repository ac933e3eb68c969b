// The training pipeline: crop, flips, policy or colour jitter, erasing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/augment/draw_crop.h"
#include "data/augment/erase.h"
#include "data/augment/jitter.h"
#include "data/pipeline.h"

namespace fovea {

/// How images reach the training size. From timm: resized (rrc) and the keep-ratio crops
/// (rkrc, rkrr).
enum class TrainCrop {
  pad,                ///< stretched to the size if needed, padded, cropped at random (CIFAR)
  resized,            ///< RandomResizedCrop
  resized_once,       ///< the same with one attempt, clipped to the image (MAE's linear probing)
  keep_ratio_center,  ///< scaled to cover it with a random scale and ratio, center crop, reflected
                      ///< edges
  keep_ratio_random,  ///< the same with a crop at a random position
  simple,             ///< shorter side scaled to the size, 4 pixels of reflect padding (DeiT III)
  adm,                ///< adm_crop_moves(): always the centre, whatever the filter (DiT)
  keep,               ///< none: each image keeps its size
  detr,               ///< draw_detr_moves() with the shorter side of the size; images differ
};
template <>
inline constexpr auto kNames<TrainCrop> =
    std::to_array<Named<TrainCrop>>({{TrainCrop::pad, "pad"},
                                     {TrainCrop::resized, "rrc"},
                                     {TrainCrop::resized_once, "rrc-once"},
                                     {TrainCrop::keep_ratio_center, "rkrc"},
                                     {TrainCrop::keep_ratio_random, "rkrr"},
                                     {TrainCrop::simple, "src"},
                                     {TrainCrop::adm, "adm"},
                                     {TrainCrop::keep, "keep"},
                                     {TrainCrop::detr, "detr"}});

/// The training steps in timm's order: crop, flips, policy or colour jitter, grayscale, blur,
/// normalisation, erasing.
struct AugmentOptions {
  std::int64_t crop_padding = 4;  ///< padding in pixels, used by TrainCrop::pad
  double flip = 0.5;
  ImageSize size{};  ///< output size; 0 x 0 keeps the image size (TrainCrop::pad only)
  Normalization normalization = kCifarNormalization;

  TrainCrop crop = TrainCrop::pad;
  Padding padding = Padding::constant;             ///< padding mode of TrainCrop::pad
  CropRange range{};                               ///< ranges of the random crops
  std::optional<Filter> filter = Filter::bicubic;  ///< none: bilinear or bicubic, drawn each time
  double vertical_flip = 0;
  std::string policy{};  ///< policy string for parse_augment_policy(); empty: none
  ColorJitter jitter{};  ///< ignored with a policy other than 3-Augment
  double jitter_probability = 1, grayscale = 0, blur = 0;
  EraseOptions erase{};
};
/// Throws on a policy that cannot be parsed.
[[nodiscard]] Pipeline training_pipeline(const AugmentOptions& options);

}  // namespace fovea
