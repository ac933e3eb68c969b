// PNG in builds without libpng. stb_image does not verify checksums, so damage can go undetected.
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb_image_write.h>

#include "data/codecs/codec.h"
#include "data/codecs/png_alpha.h"
#include "engine/base/error.h"

namespace fovea {

Image codec::decode_png(const Source& source) { return decode_stb(source); }

bool has_transparent_pixels(std::span<const std::uint8_t> /*png*/) { return false; }

std::string encode_png(const Image& image) {
  check(image.height >= 1 && image.width >= 1, "encode_png: got an empty picture");
  const PixelFormat format = image.format;
  check(format.type == PixelType::u8 && (format.channels == 1 || format.channels == 3),
        "encode_png: got an image of ", to_string(format),
        ", expected u8 in one or three channels (this build has no libpng)");
  std::string written;
  const auto append = [](void* target, void* data, int count) {
    static_cast<std::string*>(target)->append(static_cast<const char*>(data),
                                              static_cast<std::size_t>(count));
  };
  const int ok = stbi_write_png_to_func(append, &written, static_cast<int>(image.width),
                                        static_cast<int>(image.height), format.channels,
                                        image.pixels.data(), 0);
  check(ok != 0, "encode_png: stb_image_write failed on ", image.width, " x ", image.height,
        " pixels");
  return written;
}

}  // namespace fovea
