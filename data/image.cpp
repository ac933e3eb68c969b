// Detects image formats by their first bytes.
#include "data/image.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "data/codecs/codec.h"
#include "data/codecs/exif.h"
#include "data/geometry/pixel_value.h"
#include "data/geometry/transforms.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view name;
  std::size_t offset;  ///< offset of the magic bytes
  std::string_view magic;
  Image (*decode)(const codec::Source&);  ///< null: recognised but not supported
  std::string_view endings = {};          ///< file extensions, if supported
};

template <Image (*decode)(const codec::Source&)>
Image decode_and_cut(const codec::Source& source) {
  return cut(decode(source), source);
}

constexpr std::array kFormats = {
    Format{"JPEG", 0, "\xFF\xD8\xFF"sv, codec::decode_jpeg, ".jpg .jpeg"},
    Format{"PNG", 0, "\x89PNG\r\n\x1A\n"sv, decode_and_cut<codec::decode_png>, ".png"},
#if FOVEA_HAS_WEBP
    Format{"WebP", 8, "WEBP"sv, decode_and_cut<codec::decode_webp>, ".webp"},
#else
    Format{"WebP", 8, "WEBP"sv, nullptr},
#endif
    Format{"BMP", 0, "BM"sv, decode_and_cut<codec::decode_stb>, ".bmp"},
    Format{"GIF", 0, "GIF8"sv, decode_and_cut<codec::decode_gif>, ".gif"},
    Format{"PGM", 0, "P5"sv, nullptr},
    Format{"PPM", 0, "P6"sv, nullptr},
    Format{"TIFF", 0, "II*\0"sv, nullptr},
    Format{"TIFF", 0, "MM\0*"sv, nullptr},
    Format{"JPEG 2000", 4, "jP  "sv, nullptr},
    Format{"JPEG 2000", 0, "\xFF\x4F\xFF\x51"sv, nullptr},
    Format{"JPEG XL", 4, "JXL "sv, nullptr},
    Format{"JPEG XL", 0, "\xFF\x0A"sv, nullptr},
    Format{"AVIF or HEIF", 4, "ftyp"sv, nullptr},
};

const Format* recognise(std::string_view bytes) {
  for (const Format& format : kFormats) {
    if (bytes.size() >= format.offset &&
        bytes.substr(format.offset, format.magic.size()) == format.magic)
      return &format;
  }
  return nullptr;
}

/// A list such as "expected JPEG, PNG or GIF".
std::string expected_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) {
    if (format.decode != nullptr) names.emplace_back(format.name);
  }
  const std::string last = names.back();
  names.pop_back();
  return "expected " + join(names, ", ") + " or " + last;
}

}  // namespace

std::string to_string(PixelFormat format) {
  const char* type = format.type == PixelType::u8    ? "u8"
                     : format.type == PixelType::u16 ? "u16"
                                                     : "f32";
  return std::string(type) + " x " + std::to_string(format.channels);
}

std::vector<std::uint8_t> pixel_of(PixelFormat format, double value) {
  Image pixel(1, 1, format);
  with_pixel_type(format, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(pixel.values<T>(0, 0), format.channels, pixel_value<T>(value));
  });
  return std::move(pixel.pixels);
}

void require_rgb8(const Image& image, const char* what) {
  check(image.is_rgb8(), what, ": got an image of ", to_string(image.format), ", expected u8 x 3");
}

std::string lowercase_ending(std::string_view name) {
  const std::size_t dot = name.find_last_of("./");
  if (dot == std::string_view::npos || dot == 0 || name[dot] == '/' || name[dot - 1] == '/')
    return {};
  return lower_case(std::string(name.substr(dot)));
}

const std::vector<std::string>& picture_endings() {
  static const std::vector<std::string> endings = [] {
    std::string all;
    for (const Format& format : kFormats) all += std::string(format.endings) + " ";
    return split_words(all);
  }();
  return endings;
}

bool has_picture_ending(std::string_view name) {
  const std::vector<std::string>& known = picture_endings();
  return std::find(known.begin(), known.end(), lowercase_ending(name)) != known.end();
}

void codec::check_size(const Source& source, std::uint64_t height, std::uint64_t width) {
  check(height >= 1 && width >= 1, source.name, ": got a picture of ", width, " x ", height,
        " pixels, expected at least one");
  const auto limit = static_cast<std::uint64_t>(source.options.max_pixels);
  check(height <= limit && width <= limit / height, source.name, ": its header specifies ", width,
        " x ", height, " pixels, the limit is ", limit);
}

void codec::check_plausible(const Source& source, ImageSize size, std::int64_t most) {
  const auto bytes = static_cast<std::int64_t>(source.bytes.size());
  check(size.height * size.width / most <= bytes, source.name, ": damaged picture: ", bytes,
        " bytes cannot hold ", size.width, " x ", size.height, " pixels");
}

PixelBox codec::chosen_box(const Source& source, ImageSize size) {
  if (!source.choose) return {0, size.height, 0, size.width};
  const PixelBox box = source.choose(size);
  check(0 <= box.top && box.top < box.bottom && box.bottom <= size.height && 0 <= box.left &&
            box.left < box.right && box.right <= size.width,
        source.name, ": got rows ", box.top, " to ", box.bottom, " and columns ", box.left, " to ",
        box.right, ", expected a part of ", size.width, " x ", size.height, " pixels");
  return box;
}

Image codec::cut(const Image& image, const Source& source) {
  const PixelBox box = chosen_box(source, {image.height, image.width});
  return crop(image, box.top, box.left, box.size());
}

namespace {

/// Decodes the part of a picture with this EXIF orientation, and turns it.
Image decode_turned(const codec::Source& source, int orientation) {
  DecodeOptions options = source.options;
  options.orientation = ExifOrientation::ignore;
  options.shrink_to = displayed_size(options.shrink_to, orientation);
  ChooseBox choose;
  if (source.choose) {
    choose = [&](ImageSize stored) {
      return stored_part(source.choose(displayed_size(stored, orientation)), orientation, stored);
    };
  }
  return displayed(decode_image(source.bytes, source.name, choose, options), orientation);
}

}  // namespace

Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                   const ChooseBox& choose, const DecodeOptions& options) try {
  check(!bytes.empty(), name, ": the file is empty, ", expected_formats());
  const Format* format = recognise({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  check(format != nullptr, name, ": not an image of a known format, ", expected_formats());
  check(format->decode != nullptr, name, ": got a ", format->name, " file, ", expected_formats());
  const codec::Source source{bytes, name, options, choose};
  const bool turns = options.orientation == ExifOrientation::apply;
  const int orientation = turns ? exif_orientation(bytes) : 1;
  return orientation == 1 ? format->decode(source) : decode_turned(source, orientation);
} catch (const ImageError&) {
  throw;
} catch (const Error& error) {
  throw ImageError(error.what());
}

Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                   const DecodeOptions& options) {
  return decode_image(bytes, name, ChooseBox(), options);
}

Image read_image(const std::filesystem::path& path) {
  return decode_image(as_u8(read_file(path)), path.string());
}

void write_png(const std::filesystem::path& path, const Image& image) {
  write_file_atomically(path, encode_png(image));
}

}  // namespace fovea
