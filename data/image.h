// Pictures in memory, and reading and writing picture files.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace fovea {

struct ImageSize {
  std::int64_t height = 0, width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// "48x64": height, width.
[[nodiscard]] inline std::string to_string(ImageSize size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}

/// Rows [top, bottom), columns [left, right).
struct PixelBox {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  [[nodiscard]] std::int64_t area() const { return (bottom - top) * (right - left); }
  [[nodiscard]] ImageSize size() const { return {bottom - top, right - left}; }
};

/// Says which part of an image of this size is wanted; it lies inside the image.
using ChooseBox = std::function<PixelBox(ImageSize)>;

/// A picture that cannot be decoded or read: the fault of one file, not of the run.
class ImageError : public Error {
 public:
  using Error::Error;
};

/// The type of one value of a pixel. Its number is its size in bytes.
enum class PixelType : std::uint8_t { u8 = 1, u16 = 2, f32 = 4 };

template <class T>
inline constexpr PixelType kPixelType = PixelType::f32;
template <>
inline constexpr PixelType kPixelType<std::uint8_t> = PixelType::u8;
template <>
inline constexpr PixelType kPixelType<std::uint16_t> = PixelType::u16;

struct PixelFormat {
  PixelType type = PixelType::u8;
  int channels = 3;

  /// Of one pixel.
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(type) * channels; }
  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// "u8 x 3": type, channels.
[[nodiscard]] std::string to_string(PixelFormat format);
/// The bytes of a pixel with this value in each channel; rounded and clipped where values are
/// whole.
[[nodiscard]] std::vector<std::uint8_t> pixel_of(PixelFormat format, double value);

/// A colour of the usual images.
using Color8 = std::array<std::uint8_t, 3>;

/// Rows from top to bottom, the channels of a pixel together. Usually 8-bit RGB, which is what
/// decoders give and colours are changed in: pixels[(y * width + x) * 3 + c]. Geometry and
/// batches take any format: 16-bit, f32, one channel, many.
struct Image {
  static constexpr int kChannels = 3;  ///< of 8-bit RGB

  Image() = default;
  /// Black, or zeros.
  Image(std::int64_t image_height, std::int64_t image_width, PixelFormat pixel_format = {})
      : height(image_height),
        width(image_width),
        format(pixel_format),
        pixels(static_cast<std::size_t>(image_height * image_width * pixel_format.bytes())) {}

  [[nodiscard]] ImageSize size() const { return {height, width}; }
  [[nodiscard]] bool is_rgb8() const { return format == PixelFormat{}; }

  /// The first byte of a pixel.
  [[nodiscard]] std::uint8_t* at(std::int64_t y, std::int64_t x) {
    return pixels.data() + (y * width + x) * format.bytes();
  }
  [[nodiscard]] const std::uint8_t* at(std::int64_t y, std::int64_t x) const {
    return pixels.data() + (y * width + x) * format.bytes();
  }
  /// Its first value. T is the format's type: std::uint8_t, std::uint16_t or float.
  template <class T>
  [[nodiscard]] T* values(std::int64_t y, std::int64_t x) {
    assert(format.type == kPixelType<T>);
    return reinterpret_cast<T*>(at(y, x));
  }
  template <class T>
  [[nodiscard]] const T* values(std::int64_t y, std::int64_t x) const {
    assert(format.type == kPixelType<T>);
    return reinterpret_cast<const T*>(at(y, x));
  }
  friend bool operator==(const Image&, const Image&) = default;

  std::int64_t height = 0, width = 0;
  PixelFormat format{};
  std::vector<std::uint8_t> pixels;  ///< bytes, whatever the format
};

/// Throws unless the image is 8-bit RGB; `what` begins the message.
void require_rgb8(const Image& image, const char* what);

/// Calls function(T()), T being the type of the format's values.
template <class Function>
decltype(auto) with_pixel_type(PixelFormat format, const Function& function) {
  switch (format.type) {
    case PixelType::u16:
      return function(std::uint16_t());
    case PixelType::f32:
      return function(float());
    default:
      return function(std::uint8_t());
  }
}

/// A file whose header promises more pixels is refused before anything is allocated.
inline constexpr std::int64_t kMaxPixels = 178'956'970;  // Pillow's limit: 512 MiB of RGB

struct DecodeOptions {
  std::int64_t max_pixels = kMaxPixels;
  /// Lets a JPEG be decoded at 1/2, 1/4 or 1/8 of its size while what is wanted of it stays at
  /// least as large as this. Faster, and not the same pixels. 0 x 0: always at its own size.
  ImageSize shrink_to{};
  /// A PNG keeps what it is: gray has one channel, 16-bit samples are u16. Palettes become RGB and
  /// alpha is dropped all the same, and other formats are 8-bit RGB.
  bool as_stored = false;
};

/// The ending of a file's name in small letters, with its dot; "" of names that have none, and of
/// those that only begin with a dot.
[[nodiscard]] std::string lowercase_ending(std::string_view name);
/// What the names of picture files that this build reads end in: ".jpg", ".jpeg", ...
[[nodiscard]] const std::vector<std::string>& picture_endings();
[[nodiscard]] bool has_picture_ending(std::string_view name);  ///< in any case

/// Bytes as pictures are decoded from.
[[nodiscard]] inline std::span<const std::uint8_t> as_u8(std::string_view bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

/// Decodes JPEG, PNG, BMP, WebP (in a build with libwebp) or GIF, told apart by content; of those
/// that move, the first frame. Gray becomes RGB,
/// palettes and CMYK are expanded, 16-bit samples keep their high byte (unless as_stored), alpha is
/// dropped, EXIF and ICC are ignored. Throws ImageError, beginning with `name`, on anything else
/// and on damaged or cut-off data.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                                 const DecodeOptions& options = {});
/// The part that `choose` says, the same pixels as in the whole image. Of a JPEG only that part is
/// decoded: damage below it stays unnoticed.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                                 const ChooseBox& choose, const DecodeOptions& options = {});
[[nodiscard]] Image read_image(const std::filesystem::path& path);

/// How colours are stored: each chroma sample serves this many pixels.
struct JpegOptions {
  int quality = 90;  ///< 1 to 100
  int chroma_width = 2, chroma_height = 2;
  bool progressive = false;
};
/// The bytes of a JPEG file. Throws in a build without libjpeg.
[[nodiscard]] std::string encode_jpeg(const Image& image, const JpegOptions& options = {});
/// The bytes of a PNG file of u8 or u16 values in one or three channels. Throws on other formats;
/// a build without libpng writes u8 only.
[[nodiscard]] std::string encode_png(const Image& image);
/// Atomic, like every file that is written here.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace fovea
