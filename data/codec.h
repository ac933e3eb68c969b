// One decoder per picture format, private to data/. image.cpp chooses among them; which library
// stands behind decode_jpeg and decode_png is chosen by CMake, file by file.
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
  std::int64_t max_pixels;
};

/// Throws unless 1 <= height * width <= max_pixels. Called before pixels are allocated.
void check_size(const Source& source, std::uint64_t height, std::uint64_t width);

[[nodiscard]] Image decode_jpeg(const Source& source);
[[nodiscard]] Image decode_png(const Source& source);
[[nodiscard]] Image decode_stb(const Source& source);  ///< JPEG, PNG, BMP

}  // namespace fovea::codec
