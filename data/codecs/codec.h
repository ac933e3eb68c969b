// The decoders, one per picture format; private to data/. image.cpp selects one. CMake selects the
// files, and thereby the libraries, behind decode_jpeg and decode_png. A build without libwebp has
// no decode_webp.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/image.h"

namespace fovea::codec {

/// The input of a decoder, and its limits.
struct Source {
  std::span<const std::uint8_t> bytes;
  const std::string& name;  ///< starts every error message
  const DecodeOptions& options;
  const ChooseBox& choose;  ///< empty: the whole image
};

/// Throws unless 1 <= height * width <= max_pixels. Called before pixels are allocated.
void check_size(const Source& source, std::uint64_t height, std::uint64_t width);
/// Throws when the file is too short for that many pixels, at `most` pixels per byte.
void check_plausible(const Source& source, ImageSize size, std::int64_t most);

/// The box that source.choose selects for an image of this size. Throws unless it is inside.
[[nodiscard]] PixelBox chosen_box(const Source& source, ImageSize size);

[[nodiscard]] Image decode_jpeg(const Source& source);  ///< the chosen part
[[nodiscard]] Image decode_png(const Source& source);   ///< the whole image
[[nodiscard]] Image decode_webp(const Source& source);  ///< the first frame
[[nodiscard]] Image decode_gif(const Source& source);   ///< the first frame
[[nodiscard]] Image decode_stb(const Source& source);   ///< BMP, JPEG, PNG
/// Crops a whole image to the chosen part.
[[nodiscard]] Image cut(const Image& image, const Source& source);

}  // namespace fovea::codec
