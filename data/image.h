// Images in memory, and reading and writing of image files.
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

#include "engine/base/error.h"
#include "engine/base/names.h"

namespace fovea {

struct ImageSize {
  std::int64_t height = 0, width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// "48x64": height x width.
[[nodiscard]] inline std::string to_string(ImageSize size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}

/// The rows [top, bottom) and columns [left, right).
struct PixelBox {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  [[nodiscard]] std::int64_t area() const { return (bottom - top) * (right - left); }
  [[nodiscard]] ImageSize size() const { return {bottom - top, right - left}; }
};

/// Selects the wanted part of an image of this size; it must lie inside the image.
using ChooseBox = std::function<PixelBox(ImageSize)>;

/// An image that cannot be decoded or read: a problem of one file, not of the run.
class ImageError : public Error {
 public:
  using Error::Error;
};

/// The type of a pixel value; the enumerator equals its size in bytes.
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

  /// Bytes per pixel.
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(type) * channels; }
  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// "u8 x 3": type and channel count.
[[nodiscard]] std::string to_string(PixelFormat format);
/// The bytes of a pixel with this value in each channel; rounded and clipped for integer types.
[[nodiscard]] std::vector<std::uint8_t> pixel_of(PixelFormat format, double value);

/// A colour of 8-bit RGB images.
using Color8 = std::array<std::uint8_t, 3>;

/// Rows from top to bottom, with interleaved channels. Usually 8-bit RGB, the output of decoders
/// and the format of colour operations: pixels[(y * width + x) * 3 + c]. Geometry and batches
/// accept any format: 16-bit, f32, one or more channels.
struct Image {
  static constexpr int kChannels = 3;  ///< channels of 8-bit RGB

  Image() = default;
  /// A black image, or zeros.
  Image(std::int64_t image_height, std::int64_t image_width, PixelFormat pixel_format = {})
      : height(image_height),
        width(image_width),
        format(pixel_format),
        pixels(static_cast<std::size_t>(image_height * image_width * pixel_format.bytes())) {}

  [[nodiscard]] ImageSize size() const { return {height, width}; }
  [[nodiscard]] bool is_rgb8() const { return format == PixelFormat{}; }

  /// Pointer to the first byte of a pixel.
  [[nodiscard]] std::uint8_t* at(std::int64_t y, std::int64_t x) {
    return pixels.data() + (y * width + x) * format.bytes();
  }
  [[nodiscard]] const std::uint8_t* at(std::int64_t y, std::int64_t x) const {
    return pixels.data() + (y * width + x) * format.bytes();
  }
  /// Pointer to the first value of a pixel. T must match the format: std::uint8_t, std::uint16_t
  /// or float.
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
  std::vector<std::uint8_t> pixels;  ///< raw bytes in any format
};

/// Throws unless the image is 8-bit RGB; `what` starts the message.
void require_rgb8(const Image& image, const char* what);

/// Calls function(T()) with T the value type of the format.
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

/// Files whose header announces more pixels are rejected before any allocation.
inline constexpr std::int64_t kMaxPixels = 178'956'970;  // Pillow's limit: 512 MiB of RGB

/// What becomes of a picture whose EXIF data say how it is turned for display.
enum class ExifOrientation {
  ignore,  ///< it stays as stored, as with timm and torchvision
  apply,   ///< it is turned and mirrored
};
template <>
inline constexpr auto kNames<ExifOrientation> = std::to_array<Named<ExifOrientation>>(
    {{ExifOrientation::ignore, "ignore"}, {ExifOrientation::apply, "apply"}});

struct DecodeOptions {
  std::int64_t max_pixels = kMaxPixels;
  /// Allows decoding a JPEG at 1/2, 1/4 or 1/8 of its size as long as the wanted part stays at
  /// least this large. Faster, but with different pixels. 0 x 0: always at full size.
  ImageSize shrink_to{};
  /// Keeps the stored format of a PNG: grayscale has one channel, 16-bit samples are u16. Palettes
  /// still become RGB, alpha is still dropped, and other formats are 8-bit RGB.
  bool as_stored = false;
  /// With `apply` sizes and parts are those of the turned picture.
  ExifOrientation orientation = ExifOrientation::ignore;
};

/// The extension of a file name in lower case, with its dot; "" if there is none, or if the name
/// only begins with a dot.
[[nodiscard]] std::string lowercase_ending(std::string_view name);
/// The file extensions that this build can read: ".jpg", ".jpeg", ...
[[nodiscard]] const std::vector<std::string>& picture_endings();
[[nodiscard]] bool has_picture_ending(std::string_view name);  ///< ignoring case

/// The bytes in the form that the decoders take.
[[nodiscard]] inline std::span<const std::uint8_t> as_u8(std::string_view bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

/// Decodes JPEG, PNG, BMP, WebP (in a build with libwebp) or GIF, detected by content; for
/// animations, the first frame. Grayscale becomes RGB, palettes and CMYK are expanded, 16-bit
/// samples keep their high byte (unless as_stored), alpha is dropped, ICC is ignored, and so is
/// EXIF but for options.orientation.
/// Throws ImageError, starting with `name`, on anything else and on damaged or truncated data.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                                 const DecodeOptions& options = {});
/// Decodes the part that `choose` selects, with the same pixels as in the whole image. Of a JPEG
/// only that part is decoded, so damage below it is not detected.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                                 const ChooseBox& choose, const DecodeOptions& options = {});
[[nodiscard]] Image read_image(const std::filesystem::path& path);

/// Chroma subsampling: the number of pixels per chroma sample.
struct JpegOptions {
  int quality = 90;  ///< 1 to 100
  int chroma_width = 2, chroma_height = 2;
  bool progressive = false;
};
/// Encodes a JPEG file. Throws in a build without libjpeg.
[[nodiscard]] std::string encode_jpeg(const Image& image, const JpegOptions& options = {});
/// Encodes a PNG file with one or three channels of u8 or u16. Throws on other formats; a build
/// without libpng writes u8 only.
[[nodiscard]] std::string encode_png(const Image& image);
/// Writes a PNG file atomically.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace fovea
