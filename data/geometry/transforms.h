// Crops, flips and normalisation of one image, in any format.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/geometry/resize.h"
#include "data/image.h"
#include "data/normalization.h"
#include "engine/base/names.h"

namespace fovea {

/// How the area beyond an image's edges is filled.
enum class Padding {
  constant,  ///< one colour
  reflect,   ///< mirrored at the outermost pixels, which are not repeated
  edge,      ///< the outermost pixels, repeated
};
template <>
inline constexpr auto kNames<Padding> = std::to_array<Named<Padding>>(
    {{Padding::constant, "constant"}, {Padding::reflect, "reflect"}, {Padding::edge, "edge"}});

/// The bytes of a pixel in the image's format; empty: zeros. A Color8 is one for 8-bit RGB.
using PixelBytes = std::span<const std::uint8_t>;

/// The part at (top, left); black outside of the image.
[[nodiscard]] Image crop(const Image& image, std::int64_t top, std::int64_t left, ImageSize size);
/// The part inside the box; filled by `padding` outside of the image.
[[nodiscard]] Image crop(const Image& image, const PixelBox& box, Padding padding,
                         PixelBytes fill = {});
/// The central part of an image; odd remainders are split like Python's round() (half to even).
[[nodiscard]] PixelBox center_box(ImageSize image, ImageSize size);
/// The same, but first pads sides that are too short, with the odd pixel after the image (timm's
/// CenterCropOrPad).
[[nodiscard]] PixelBox center_box_or_pad(ImageSize image, ImageSize size);
/// The size with the image's ratio and a shorter side equal to a square `size`, or just large
/// enough to cover `size`: timm's scaling before a crop (torchvision's Resize rounds down, timm's
/// ResizeKeepRatio to even).
[[nodiscard]] ImageSize covering_size(ImageSize image, ImageSize size);
/// Resizes the image; returns it unchanged if it already has the size.
[[nodiscard]] Image resized(Image image, ImageSize size, Filter filter);
/// crop(resized(image, size, filter), box, padding, fill), for which only the pixels that the crop
/// shows are computed.
[[nodiscard]] Image resized_part(const Image& image, ImageSize size, Filter filter,
                                 const PixelBox& box, Padding padding, PixelBytes fill = {});
[[nodiscard]] Image flip_horizontal(Image image);
[[nodiscard]] Image flip_vertical(Image image);
/// Rotates counter-clockwise by multiples of 90 degrees; throws on odd multiples for an image that
/// is not square.
[[nodiscard]] Image turn(const Image& image, int quarters);

/// Writes [C, height, width] values. Images without three channels are not normalised: u8 and u16
/// are scaled to 0 .. 1, f32 is unchanged.
void normalize(const Image& image, const Normalization& normalization, float* output);
/// Writes the unscaled values, [C, height, width].
void planar_values(const Image& image, float* output);
/// The bytes of an image of 8-bit RGB, [3, height, width].
void planar_bytes(const Image& image, std::uint8_t* output);

/// The values that normalize() writes for the levels of 8-bit RGB, channel by channel.
using LevelTable = std::array<std::array<float, 256>, 3>;
[[nodiscard]] LevelTable level_table(const Normalization& normalization);

/// The mean colour in 8 bits, for the area outside of an image.
[[nodiscard]] Color8 mean_color(const Normalization& normalization);

}  // namespace fovea
