// Depth in colours, with its scale in metres.
#pragma once

#include <span>
#include <string>

#include "data/image.h"

namespace fovea {

/// Depths in metres, in rows of the picture's width.
struct DepthMap {
  std::span<const double> metres;
  ImageSize size{};
};

/// Colours from dark (0) to bright (`most`); grey where the depth is 0: not known.
[[nodiscard]] Image colored_depth(const DepthMap& depth, double most);

/// Rows of pictures above a bar of the colours of 0 to `most` metres, with its ticks.
[[nodiscard]] Image with_depth_scale(const Image& pictures, double most);

/// A figure as pixels: the picture, beside it its depth in colours, and below their scale in
/// metres.
[[nodiscard]] Image image_of_depth(const Image& picture, const DepthMap& depth);
/// An SVG figure: the picture, its depth in colours, and the scale of the colours in metres.
[[nodiscard]] std::string svg_of_depth(const Image& picture, const DepthMap& depth);

}  // namespace fovea
