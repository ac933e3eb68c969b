// PNG through libpng. Checksums are verified; a mismatch is an error.
#include <png.h>
#include <csetjmp>
#include <cstring>

#include <array>
#include <bit>
#include <vector>

#include "data/codecs/codec.h"
#include "data/codecs/png_alpha.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

using codec::Source;

/// State for reading or writing, destroyed on every path. libpng's errors jump to on_error.
struct Png {
  explicit Png(bool writes) : write(writes) {
    png = write ? png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_png_error, ignore)
                : png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_png_error, ignore);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
    check(info != nullptr, "libpng: initialisation failed (out of memory?)");
  }
  ~Png() {
    if (write)
      png_destroy_write_struct(&png, &info);
    else
      png_destroy_read_struct(&png, &info, nullptr);
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  [[noreturn]] static void on_png_error(png_structp png, png_const_charp text) {
    Png& self = *static_cast<Png*>(png_get_error_ptr(png));
    std::strncpy(self.message.data(), text, self.message.size() - 1);
    std::longjmp(self.on_error, 1);
  }
  static void ignore(png_structp, png_const_charp) {}  // warnings

  bool write;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf on_error{};
  std::array<char, 128> message{};
  std::span<const std::uint8_t> unread;  ///< input
  std::string written;                   ///< output
  Image image;
  std::vector<png_bytep> rows;
};

void take(png_structp png, png_bytep target, std::size_t count) {
  Png& self = *static_cast<Png*>(png_get_io_ptr(png));
  if (count > self.unread.size()) png_error(png, "the data ends too early");
  std::memcpy(target, self.unread.data(), count);
  self.unread = self.unread.subspan(count);
}

void append(png_structp png, png_bytep data, std::size_t count) {
  Png& self = *static_cast<Png*>(png_get_io_ptr(png));
  self.written.append(reinterpret_cast<const char*>(data), count);
}

/// Deflate compresses at most 1032-fold: a shorter file cannot contain the pixels of its header.
void check_rows_fit(const Source& source, const Png& self) {
  const std::size_t promised =
      png_get_rowbytes(self.png, self.info) * png_get_image_height(self.png, self.info);
  check(promised / 1032 <= source.bytes.size(), source.name, ": damaged PNG: ", source.bytes.size(),
        " bytes cannot hold ", png_get_image_width(self.png, self.info), " x ",
        png_get_image_height(self.png, self.info), " pixels");
}

void convert(const Png& self, bool as_stored, bool keeps_alpha) {
  if (!keeps_alpha) png_set_strip_alpha(self.png);
  png_set_expand(self.png);  // expand palettes and samples below 8 bits
  if (!as_stored) {
    png_set_strip_16(self.png);  // keep the high byte
    png_set_gray_to_rgb(self.png);
  } else if (std::endian::native == std::endian::little) {
    png_set_swap(self.png);  // files are big-endian
  }
  png_set_interlace_handling(self.png);
}

/// The format of the rows that libpng returns with the current settings.
PixelFormat format_of(const Png& self) {
  const bool wide = png_get_bit_depth(self.png, self.info) == 16;
  return {wide ? PixelType::u16 : PixelType::u8, png_get_channels(self.png, self.info)};
}

void point_at_rows(Png& self) {
  self.rows.resize(static_cast<std::size_t>(self.image.height));
  for (std::size_t y = 0; y < self.rows.size(); ++y) self.rows[y] = self.image.at(y, 0);
}

/// Fills self.image, whose fourth channel is alpha if the file has it and `keeps_alpha`. Returns
/// false after a libpng error, with the text in self.message.
bool decode_into(Png& self, const Source& source, bool keeps_alpha = false) {
  if (setjmp(self.on_error) != 0) return false;
  png_set_read_fn(self.png, &self, take);
  // check_size() applies our own limits, with better messages.
  png_set_user_limits(self.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(self.png, self.info);
  const png_uint_32 height = png_get_image_height(self.png, self.info);
  const png_uint_32 width = png_get_image_width(self.png, self.info);
  codec::check_size(source, height, width);
  check_rows_fit(source, self);
  convert(self, source.options.as_stored, keeps_alpha);
  png_read_update_info(self.png, self.info);

  self.image = Image(height, width, format_of(self));
  if (!source.options.as_stored && !keeps_alpha && !self.image.is_rgb8())
    png_error(self.png, "its rows cannot be converted to RGB");
  point_at_rows(self);
  png_read_image(self.png, self.rows.data());
  png_read_end(self.png, nullptr);
  return true;
}

/// Encodes self.image to self.written.
bool encode_from(Png& self) {
  if (setjmp(self.on_error) != 0) return false;
  png_set_write_fn(self.png, &self, append, nullptr);
  png_set_user_limits(self.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  const PixelFormat format = self.image.format;
  png_set_IHDR(self.png, self.info, static_cast<png_uint_32>(self.image.width),
               static_cast<png_uint_32>(self.image.height), 8 * static_cast<int>(format.type),
               format.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_rows(self.png, self.info, self.rows.data());
  const bool swaps = format.type == PixelType::u16 && std::endian::native == std::endian::little;
  png_write_png(self.png, self.info, swaps ? PNG_TRANSFORM_SWAP_ENDIAN : PNG_TRANSFORM_IDENTITY,
                nullptr);
  return true;
}

}  // namespace

Image codec::decode_png(const Source& source) {
  Png self(/*writes=*/false);
  self.unread = source.bytes;
  if (!decode_into(self, source)) fail(source.name, ": damaged PNG: ", self.message.data());
  return std::move(self.image);
}

bool has_transparent_pixels(std::span<const std::uint8_t> png) {
  const std::string name = "PNG";
  Png self(/*writes=*/false);
  self.unread = png;
  if (!decode_into(self, {png, name, DecodeOptions{}, ChooseBox{}}, /*keeps_alpha=*/true)) {
    return false;
  }
  constexpr int kWithAlpha = 4;
  const std::vector<std::uint8_t>& values = self.image.pixels;
  if (self.image.format.channels != kWithAlpha) return false;
  for (std::size_t alpha = kWithAlpha - 1; alpha < values.size(); alpha += kWithAlpha) {
    if (values[alpha] != 255) return true;
  }
  return false;
}

std::string encode_png(const Image& image) {
  check(image.height >= 1 && image.width >= 1, "encode_png: got an empty picture");
  const PixelFormat format = image.format;
  check(format.type != PixelType::f32 && (format.channels == 1 || format.channels == 3),
        "encode_png: got an image of ", to_string(format),
        ", expected u8 or u16 in one or three channels");
  Png self(/*writes=*/true);
  self.image = image;
  point_at_rows(self);
  if (!encode_from(self)) fail("encode_png: ", self.message.data());
  return std::move(self.written);
}

}  // namespace fovea
