// One decoder per picture format, private to data/. image.cpp chooses among them; which library
// stands behind decode_jpeg and decode_png is chosen by CMake, file by file. A build without
// libwebp has no decode_webp.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/image.h"

namespace fovea::codec {

/// What is to be decoded and under which conditions.
struct Source {
  std::span<const std::uint8_t> bytes;
  const std::string& name;  ///< begins every error
  const DecodeOptions& options;
  const ChooseBox& choose;  ///< empty: the whole image
};

/// Throws unless 1 <= height * width <= max_pixels. Called before pixels are allocated.
void check_size(const Source& source, std::uint64_t height, std::uint64_t width);
/// Throws when the file is too short to hold so many pixels, at `most` pixels a byte.
void check_plausible(const Source& source, ImageSize size, std::int64_t most);

/// What source.choose wants of an image of this size. Throws when that is not a part of it.
[[nodiscard]] PixelBox chosen_box(const Source& source, ImageSize size);

[[nodiscard]] Image decode_jpeg(const Source& source);  ///< the chosen part
[[nodiscard]] Image decode_png(const Source& source);   ///< the whole image, like the next
[[nodiscard]] Image decode_webp(const Source& source);  ///< its first frame
[[nodiscard]] Image decode_gif(const Source& source);   ///< its first frame
[[nodiscard]] Image decode_stb(const Source& source);   ///< BMP, JPEG, PNG
/// The chosen part of a whole image.
[[nodiscard]] Image cut(const Image& image, const Source& source);

}  // namespace fovea::codec
