// Objects' boxes drawn on pictures, as pixels and as SVG.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/figures/colormap.h"
#include "data/image.h"

namespace fovea {

/// The colour of a class: Okabe and Ito's for the first six, then hues a golden angle apart in four
/// shades. No two of the first hundred are equal.
[[nodiscard]] Rgb class_color(std::size_t index);

/// A box in pixels of its picture; it may extend beyond the edges.
struct ShownBox {
  double x = 0, y = 0, width = 0, height = 0;
  std::size_t color = 0;  ///< see class_color()
  std::string label{};    ///< "cat 0.93"; empty: none
};

/// Draws the outlines of the boxes, the first one on top, and their labels, none of which covers
/// another.
void draw_boxes(Image& picture, std::span<const ShownBox> boxes);

/// The picture with outlines and labels, the first box on top. Larger than the picture for small
/// ones, so that labels can be read.
[[nodiscard]] std::string svg_of_boxes(const Image& picture, std::span<const ShownBox> boxes);
/// The same as pixels.
[[nodiscard]] Image image_of_boxes(const Image& picture, std::span<const ShownBox> boxes);

}  // namespace fovea
