// Cuts, flips and normalisation of one image, of any format.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/names.h"
#include "data/image.h"
#include "data/resize.h"

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

/// The bytes of a pixel, in the image's format; empty: zeros. A Color8 is one of 8-bit RGB.
using PixelBytes = std::span<const std::uint8_t>;

/// The part at (top, left); what lies outside of the image is black.
[[nodiscard]] Image crop(const Image& image, std::int64_t top, std::int64_t left, ImageSize size);
/// The part inside the box; what lies outside of the image is as `padding` says.
[[nodiscard]] Image crop(const Image& image, const PixelBox& box, Padding padding,
                         PixelBytes fill = {});
/// The middle part of an image; odd remainders are split as Python's round() does (halves to even).
[[nodiscard]] PixelBox center_box(ImageSize image, ImageSize size);
/// The same, with sides that are too short padded first, the odd pixel after the image (timm's
/// CenterCropOrPad).
[[nodiscard]] PixelBox center_box_or_pad(ImageSize image, ImageSize size);
/// The image's shape with the shorter side of a square `size`, or just large enough to cover it: as
/// timm scales before it crops (torchvision's Resize rounds down, timm's ResizeKeepRatio to even).
[[nodiscard]] ImageSize covering_size(ImageSize image, ImageSize size);
/// The image itself where it has the size.
[[nodiscard]] Image resized(Image image, ImageSize size, Filter filter);
[[nodiscard]] Image flip_horizontal(Image image);
[[nodiscard]] Image flip_vertical(Image image);
/// Counter-clockwise, so many times 90 degrees; throws on a quarter turn of an image that is not
/// square.
[[nodiscard]] Image turn(const Image& image, int quarters);

/// y = (x - mean) / deviation per channel, x being a value of 0 to 1: u8 / 255, u16 / 65535.
struct Normalization {
  std::array<float, 3> mean, deviation;
};
inline constexpr Normalization kCifarNormalization = {{0.4914F, 0.4822F, 0.4465F},
                                                      {0.2470F, 0.2435F, 0.2616F}};
inline constexpr Normalization kImageNetNormalization = {{0.485F, 0.456F, 0.406F},
                                                         {0.229F, 0.224F, 0.225F}};

/// Writes [C, height, width] values. Images that have not three channels are not normalised: u8 and
/// u16 come to 0 .. 1, f32 stays as it is.
void normalize(const Image& image, const Normalization& normalization, float* output);
/// The values as they are, [C, height, width].
void planar_values(const Image& image, float* output);

/// The mean colour in 8 bits, for what lies outside of an image.
[[nodiscard]] Color8 mean_color(const Normalization& normalization);

}  // namespace fovea
