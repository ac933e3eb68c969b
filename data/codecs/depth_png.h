// Depth maps as PNG files: one 16-bit gray value per pixel, in millimetres, 0 or 65,535 where the
// depth is unknown. Metres in memory: f32 in one channel, 0 where it is unknown.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/image.h"

namespace fovea {

/// The greatest value stands for an unknown depth too: sensors and tools write it beyond their
/// range.
inline constexpr std::uint16_t kUnknownDepth = 65'535;
/// The largest depth that a file of millimetres holds, in metres.
inline constexpr double kMaxPngDepth = 65.534;
inline constexpr double kMillimetres = 1000;  ///< values of a file per metre

/// Decodes a file to metres, u16 / scale. Throws ImageError, starting with `name`, on anything but
/// an intact PNG with one channel of 16 bits: 8 bits are millimetres up to 0.255 m, and several
/// channels are a picture.
[[nodiscard]] Image decode_depth_png(std::span<const std::uint8_t> bytes, const std::string& name,
                                     std::int64_t max_pixels = kMaxPixels,
                                     double scale = kMillimetres);

/// The values of a depth map as u16 millimetres, rounded to the nearest. Depths below half a
/// millimetre become unknown, those over kMaxPngDepth become kMaxPngDepth. Throws on other formats
/// than f32 x 1, and on values that are negative or not finite.
[[nodiscard]] Image millimetres(const Image& metres);

/// The file of a depth map in metres: encode_png(millimetres(metres)). Throws in a build without
/// libpng.
[[nodiscard]] std::string encode_depth_png(const Image& metres);

}  // namespace fovea
