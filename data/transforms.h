// What happens to one image between the data set and the batch. Random steps draw from the Rng they
// are given, so a result is a function of (image, rng).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/augment/affine.h"
#include "data/augment/crop.h"
#include "data/augment/erase.h"
#include "data/augment/jitter.h"
#include "data/image.h"
#include "data/resize.h"
#include "engine/rng.h"

namespace fovea {

/// What stands beyond an image's edges.
enum class Padding {
  constant,  ///< one colour
  reflect,   ///< the image mirrored at its outermost pixels, which are not repeated
  edge,      ///< the outermost pixels again and again
};
template <>
inline constexpr auto kNames<Padding> = std::to_array<Named<Padding>>(
    {{Padding::constant, "constant"}, {Padding::reflect, "reflect"}, {Padding::edge, "edge"}});

/// The part at (top, left); what lies outside of the image is black.
[[nodiscard]] Image crop(const Image& image, std::int64_t top, std::int64_t left, ImageSize size);
/// The part inside the box; what lies outside of the image is as `padding` says.
[[nodiscard]] Image crop(const Image& image, const PixelBox& box, Padding padding,
                         const Color8& fill = {});
/// The middle part; odd remainders are split as Python's round() does (halves to even).
[[nodiscard]] Image center_crop(const Image& image, ImageSize size);
/// The same, with sides that are too short padded first, the odd pixel after the image (timm's
/// CenterCropOrPad).
[[nodiscard]] Image center_crop_or_pad(const Image& image, ImageSize size, Padding padding,
                                       const Color8& fill = {});
/// The image's shape with the shorter side of a square `size`, or just large enough to cover it: as
/// timm scales before it crops (torchvision's Resize rounds down, timm's ResizeKeepRatio to even).
[[nodiscard]] ImageSize covering_size(const Image& image, ImageSize size);
/// The image itself where it has the size.
[[nodiscard]] Image resized(Image image, ImageSize size, Filter filter);
[[nodiscard]] Image flip_horizontal(Image image);
[[nodiscard]] Image flip_vertical(Image image);

/// Pads by `padding` pixels all round, black unless said otherwise, and crops the old size at a
/// random place.
[[nodiscard]] Image random_crop(const Image& image, std::int64_t padding, Rng& rng,
                                Padding kind = Padding::constant);
/// Mirrors with the given probability.
[[nodiscard]] Image random_flip(Image image, double probability, Rng& rng);

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
  std::vector<Step> steps;       ///< what part of the image is seen, and which way round
  std::vector<Step> variations;  ///< after them, what it looks like: policy and colours
  Normalization normalization = kCifarNormalization;
  /// Works on the normalised values f32 [3, height, width], last; empty: nothing.
  std::function<void(float* values, ImageSize size, Rng& rng)> finish;

  [[nodiscard]] Image place(Image image, Rng& rng) const;  ///< `steps` alone
  [[nodiscard]] Image vary(Image image, Rng& rng) const;   ///< `variations` alone
  [[nodiscard]] Image apply(Image image, Rng& rng) const;  ///< both
};

/// The mean colour in 8 bits, for what lies outside of an image.
[[nodiscard]] Color8 mean_color(const Normalization& normalization);

}  // namespace fovea
