// What happens to one image between the data set and the batch. Random steps draw from the Rng they
// are given, so a result is a function of (image, rng).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/image.h"
#include "data/resize.h"
#include "engine/rng.h"

namespace fovea {

/// The part at (top, left); what lies outside of the image is black.
[[nodiscard]] Image crop(const Image& image, std::int64_t top, std::int64_t left, ImageSize size);
/// The middle part; odd remainders are split as Python's round() does (halves to even).
[[nodiscard]] Image center_crop(const Image& image, ImageSize size);
[[nodiscard]] Image flip_horizontal(Image image);

/// Pads by `padding` black pixels all round and crops the old size at a random place.
[[nodiscard]] Image random_crop(const Image& image, std::int64_t padding, Rng& rng);
/// Mirrors with the given probability.
[[nodiscard]] Image random_flip(Image image, double probability, Rng& rng);

/// Scales so that `size` covers the fraction crop_pct of the shorter side, then crops the centre:
/// the usual way to show a photograph to a model. 0 < crop_pct <= 1.
[[nodiscard]] Image resize_for_evaluation(const Image& image, ImageSize size,
                                          double crop_pct = 0.875, Filter filter = Filter::bicubic);

/// y = (x / 255 - mean) / deviation, per channel.
struct Normalization {
  std::array<float, 3> mean, deviation;
};
inline constexpr Normalization kCifarNormalization = {{0.4914F, 0.4822F, 0.4465F},
                                                      {0.2470F, 0.2435F, 0.2616F}};
inline constexpr Normalization kImageNetNormalization = {{0.485F, 0.456F, 0.406F},
                                                         {0.229F, 0.224F, 0.225F}};

/// Writes [3, height, width] values.
void normalize(const Image& image, const Normalization& normalization, float* output);

/// The steps that make an image of a data set ready for a batch, in order.
struct Pipeline {
  using Step = std::function<Image(Image image, Rng& rng)>;

  /// The part of the image that the steps begin with; empty: the whole one. Asked first, so that a
  /// source need decode no more than that.
  std::function<PixelBox(ImageSize size, Rng& rng)> choose_box;
  std::vector<Step> steps;
  Normalization normalization = kCifarNormalization;
  /// Works on the normalised values f32 [3, height, width], last; empty: nothing.
  std::function<void(float* values, ImageSize size, Rng& rng)> finish;

  [[nodiscard]] Image apply(Image image, Rng& rng) const;
};

struct AugmentOptions {
  std::int64_t crop_padding = 4;
  double flip = 0.5;
  ImageSize size{};  ///< of the result; 0 x 0 leaves images as they are
  Normalization normalization = kCifarNormalization;
};
/// For training on small images: resize where asked, random crop with padding, random flip.
[[nodiscard]] Pipeline training_pipeline(const AugmentOptions& options);

struct EvaluationOptions {
  ImageSize size{};  ///< of the result; 0 x 0 leaves images as they are
  double crop_pct = 0.875;
  Normalization normalization = kCifarNormalization;
};
/// No randomness. Images of at most 32 pixels are stretched to the size, not cropped.
[[nodiscard]] Pipeline evaluation_pipeline(const EvaluationOptions& options);

}  // namespace fovea
