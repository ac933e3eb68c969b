// Transparency of PNG files, which decoding drops.
#pragma once

#include <cstdint>
#include <span>

namespace fovea {

/// Whether an intact PNG file has a pixel that is not opaque. False in a build without libpng.
[[nodiscard]] bool has_transparent_pixels(std::span<const std::uint8_t> png);

}  // namespace fovea
