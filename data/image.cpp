// Tells picture files apart by their first bytes.
#include "data/image.h"

#include <array>
#include <string_view>

#include "data/codec.h"
#include "engine/check.h"
#include "engine/files.h"

namespace fovea {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view name;
  std::size_t offset;  ///< of the magic bytes
  std::string_view magic;
  Image (*decode)(const codec::Source&);  ///< null: known, not supported
};

constexpr std::array kFormats = {
    Format{"JPEG", 0, "\xFF\xD8\xFF"sv, codec::decode_jpeg},
    Format{"PNG", 0, "\x89PNG\r\n\x1A\n"sv, codec::decode_png},
    Format{"BMP", 0, "BM"sv, codec::decode_stb},
    Format{"PGM", 0, "P5"sv, nullptr},
    Format{"PPM", 0, "P6"sv, nullptr},
    Format{"GIF", 0, "GIF8"sv, nullptr},
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
  const auto limit = static_cast<std::uint64_t>(source.max_pixels);
  check(height <= limit && width <= limit / height, source.name, ": its header promises ", width,
        " x ", height, " pixels, the limit is ", limit);
}

Image decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                   std::int64_t max_pixels) {
  constexpr std::string_view supported = "expected JPEG, PNG or BMP";
  check(!bytes.empty(), name, ": the file is empty, ", supported);
  const Format* format = recognise({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  check(format != nullptr, name, ": not a picture of a known format, ", supported);
  check(format->decode != nullptr, name, ": got a ", format->name, " file, ", supported);
  return format->decode({bytes, name, max_pixels});
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
