// Pictures in memory, and reading and writing picture files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fovea {

/// 8-bit RGB, rows from top to bottom: pixels[(y * width + x) * 3 + c].
struct Image {
  static constexpr int kChannels = 3;

  Image() = default;
  Image(std::int64_t image_height, std::int64_t image_width)  ///< black
      : height(image_height),
        width(image_width),
        pixels(static_cast<std::size_t>(image_height * image_width * kChannels)) {}

  [[nodiscard]] std::uint8_t* at(std::int64_t y, std::int64_t x) {
    return pixels.data() + (y * width + x) * kChannels;
  }
  [[nodiscard]] const std::uint8_t* at(std::int64_t y, std::int64_t x) const {
    return pixels.data() + (y * width + x) * kChannels;
  }
  friend bool operator==(const Image&, const Image&) = default;

  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> pixels;
};

/// A file whose header promises more pixels is refused before anything is allocated.
inline constexpr std::int64_t kMaxPixels = 178'956'970;  // Pillow's limit: 512 MiB of RGB

/// Decodes JPEG, PNG or BMP, told apart by content. Gray becomes RGB, palettes and CMYK are
/// expanded, 16-bit samples keep their high byte, alpha is dropped, EXIF and ICC are ignored.
/// Throws Error, beginning with `name`, on anything else and on damaged or cut-off data.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                                 std::int64_t max_pixels = kMaxPixels);
[[nodiscard]] Image read_image(const std::filesystem::path& path);

/// The bytes of an RGB PNG file.
[[nodiscard]] std::string encode_png(const Image& image);
/// Atomic, like every file that is written here.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace fovea
