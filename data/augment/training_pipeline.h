// Training's steps put together: crop, flips, policy or colour jitter, erasing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/augment/draw_crop.h"
#include "data/augment/erase.h"
#include "data/augment/jitter.h"
#include "data/pipeline.h"

namespace fovea {

/// How an image comes to the size of training. timm's: resized (rrc), the keep-ratio crops (rkrc,
/// rkrr).
enum class TrainCrop {
  pad,                ///< stretched to the size where need be, padded, cropped at random: CIFAR
  resized,            ///< RandomResizedCrop
  resized_once,       ///< the same with one attempt, cut to the image: MAE's linear probe
  keep_ratio_center,  ///< scaled to cover at a random scale and ratio, central crop, reflected
  keep_ratio_random,  ///< the same with a crop at a random place
  simple,             ///< shorter side to the size, padded by 4 reflected pixels: DeiT III's
};
template <>
inline constexpr auto kNames<TrainCrop> =
    std::to_array<Named<TrainCrop>>({{TrainCrop::pad, "pad"},
                                     {TrainCrop::resized, "rrc"},
                                     {TrainCrop::resized_once, "rrc-once"},
                                     {TrainCrop::keep_ratio_center, "rkrc"},
                                     {TrainCrop::keep_ratio_random, "rkrr"},
                                     {TrainCrop::simple, "src"}});

/// Training's steps in timm's order: crop, flips, policy or colour jitter, gray, blur; normalised;
/// erased.
struct AugmentOptions {
  std::int64_t crop_padding = 4;  ///< of TrainCrop::pad
  double flip = 0.5;
  ImageSize size{};  ///< of the result; 0 x 0 leaves images as they are (TrainCrop::pad only)
  Normalization normalization = kCifarNormalization;

  TrainCrop crop = TrainCrop::pad;
  Padding padding = Padding::constant;             ///< of TrainCrop::pad
  CropRange range{};                               ///< of the random crops
  std::optional<Filter> filter = Filter::bicubic;  ///< none: bilinear or bicubic, drawn each time
  double vertical_flip = 0;
  std::string policy{};  ///< as parse_augment_policy() reads it; empty: none
  ColorJitter jitter{};  ///< not beside a policy, unless that is one of 3-Augment's
  double jitter_probability = 1, grayscale = 0, blur = 0;
  EraseOptions erase{};
};
/// Throws on a policy that cannot be parsed.
[[nodiscard]] Pipeline training_pipeline(const AugmentOptions& options);

}  // namespace fovea
