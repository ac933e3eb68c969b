// Tells picture files apart by their first bytes.
#include "data/image.h"

#include <array>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "data/codecs/codec.h"
#include "data/transforms.h"

namespace fovea {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view name;
  std::size_t offset;  ///< of the magic bytes
  std::string_view magic;
  Image (*decode)(const codec::Source&);  ///< null: known, not supported
};

template <Image (*decode)(const codec::Source&)>
Image decode_and_cut(const codec::Source& source) {
  return cut(decode(source), source);
}

constexpr std::array kFormats = {
    Format{"JPEG", 0, "\xFF\xD8\xFF"sv, codec::decode_jpeg},
    Format{"PNG", 0, "\x89PNG\r\n\x1A\n"sv, decode_and_cut<codec::decode_png>},
    Format{"BMP", 0, "BM"sv, decode_and_cut<codec::decode_stb>},
    Format{"PGM", 0, "P5"sv, nullptr},
    Format{"PPM", 0, "P6"sv, nullptr},
    Format{"GIF", 0, "GIF8"sv, decode_and_cut<codec::decode_stb>},
    Format{"WebP", 8, "WEBP"sv, nullptr},
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

}  // namespace

void codec::check_size(const Source& source, std::uint64_t height, std::uint64_t width) {
  check(height >= 1 && width >= 1, source.name, ": got a picture of ", width, " x ", height,
        " pixels, expected at least one");
  const auto limit = static_cast<std::uint64_t>(source.options.max_pixels);
  check(height <= limit && width <= limit / height, source.name, ": its header promises ", width,
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

Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                   const ChooseBox& choose, const DecodeOptions& options) try {
  constexpr std::string_view supported = "expected JPEG, PNG, BMP or GIF";
  check(!bytes.empty(), name, ": the file is empty, ", supported);
  const Format* format = recognise({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  check(format != nullptr, name, ": not a picture of a known format, ", supported);
  check(format->decode != nullptr, name, ": got a ", format->name, " file, ", supported);
  return format->decode({bytes, name, options, choose});
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
  const std::string file = read_file(path);
  return decode_image({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()},
                      path.string());
}

void write_png(const std::filesystem::path& path, const Image& image) {
  write_file_atomically(path, encode_png(image));
}

}  // namespace fovea
