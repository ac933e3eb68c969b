// Short texts in pixels, for pictures that are PNG files: letters of 5 x 7 pixels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/figures/colormap.h"
#include "data/image.h"

namespace fovea {

inline constexpr std::int64_t kLetterWidth = 6,
                              kLineHeight = 9;  ///< with the space between letters

/// Width and height of letters, in pixels of the font.
struct TextStyle {
  Rgb color{255, 255, 255};
  std::int64_t scale = 1;  ///< pixels of the picture per pixel of the font
};

/// Fills the part of the box that lies within the picture.
void fill_box(Image& picture, const PixelBox& box, const Rgb& color);
/// Draws a line of text into the area of text_width() x kLineHeight * scale pixels at (top, left);
/// what lies beyond the picture is cut. Characters other than ASCII's become '?'.
void draw_text(Image& picture, std::int64_t top, std::int64_t left, std::string_view text,
               const TextStyle& style = {});
/// The width of a text in pixels.
[[nodiscard]] std::int64_t text_width(std::string_view text, std::int64_t scale = 1);

/// Tiles of one size, each above its text on one line, or two if a text needs them. Tiles are
/// enlarged by a whole number to at least 64 pixels, and up to 128 until all texts fit; letters
/// that do not fit then are left out.
[[nodiscard]] std::vector<Image> captioned(std::span<const Image> tiles,
                                           std::span<const std::string> texts);

}  // namespace fovea
