// Resizing with Pillow's filters: bit-identical for 8-bit images. Other types are computed in f64,
// and rounded for integer types.
#pragma once

#include <cstdint>

#include "data/image.h"
#include "engine/base/names.h"

namespace fovea {

enum class Filter { nearest, box, bilinear, hamming, bicubic, lanczos };
template <>
inline constexpr auto kNames<Filter> = std::to_array<Named<Filter>>({{Filter::nearest, "nearest"},
                                                                     {Filter::box, "box"},
                                                                     {Filter::bilinear, "bilinear"},
                                                                     {Filter::hamming, "hamming"},
                                                                     {Filter::bicubic, "bicubic"},
                                                                     {Filter::lanczos, "lanczos"}});

/// A part of an image, in pixels; edges may be fractional.
struct SourceBox {
  double top = 0, left = 0, bottom = 0, right = 0;
};

/// When shrinking, the filter is stretched to cover all source pixels (antialiasing), except for
/// nearest. Throws unless both sizes are at least 1.
[[nodiscard]] Image resize(const Image& image, ImageSize size, Filter filter = Filter::bicubic);
/// The same for a part of the image; pixels outside of it do not contribute.
[[nodiscard]] Image resize(const Image& image, ImageSize size, Filter filter, SourceBox box);
/// The pixels `part` of the image resized to `size`, without computing the others: time and memory
/// do not grow with `size`. Throws unless `part` lies inside `size`.
[[nodiscard]] Image resize_part(const Image& image, ImageSize size, Filter filter,
                                const PixelBox& part);

}  // namespace fovea
