// The orientation that cameras store beside a picture's pixels, in the EXIF data of JPEG, PNG and
// WebP files: how the stored pixels are turned and mirrored for display.
#pragma once

#include <cstdint>
#include <span>

#include "data/image.h"

namespace fovea {

/// One of EXIF's eight: 1 as stored, 2 mirrored, 3 turned by 180 degrees, 4 upside down, 5 and 7
/// mirrored at a diagonal, 6 and 8 turned by 90 degrees. 1 without (valid) EXIF data.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> file);

/// The size of a picture of stored size `size` for display; from 5 on, the sides change places.
[[nodiscard]] ImageSize displayed_size(ImageSize size, int orientation);
/// The stored pixels of a part of the displayed picture; `stored` is the size in the file.
[[nodiscard]] PixelBox stored_part(const PixelBox& displayed, int orientation, ImageSize stored);
/// The picture for display.
[[nodiscard]] Image displayed(const Image& stored, int orientation);

}  // namespace fovea
