// stb_image: BMP always, JPEG and PNG in builds without their libraries. Its other formats are
// disabled: the fuzzer finds overflows in 2.27 (16-bit PNM).
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#include <stb_image.h>

#include <cstring>
#include <limits>
#include <memory>

#include "data/codecs/codec.h"
#include "engine/base/error.h"

namespace fovea::codec {
namespace {

/// The output format; `channels` is the file's channel count.
PixelFormat wanted_format(const Source& source, int channels) {
  const auto size = static_cast<int>(source.bytes.size());
  const bool is_png = source.bytes.front() == 0x89;
  if (!source.options.as_stored || !is_png) return {};
  const bool wide = stbi_is_16_bit_from_memory(source.bytes.data(), size) != 0;
  return {wide ? PixelType::u16 : PixelType::u8, channels <= 2 ? 1 : 3};  // without alpha
}

void* load(const Source& source, PixelFormat format) {
  const auto size = static_cast<int>(source.bytes.size());
  int width = 0, height = 0, channels = 0;
  if (format.type == PixelType::u16)
    return stbi_load_16_from_memory(source.bytes.data(), size, &width, &height, &channels,
                                    format.channels);
  return stbi_load_from_memory(source.bytes.data(), size, &width, &height, &channels,
                               format.channels);
}

}  // namespace

Image decode_stb(const Source& source) {
  check(source.bytes.size() <= std::numeric_limits<int>::max(), source.name, ": got ",
        source.bytes.size(), " bytes, expected less than 2 GiB");
  const auto size = static_cast<int>(source.bytes.size());
  int width = 0, height = 0, channels = 0;
  if (stbi_info_from_memory(source.bytes.data(), size, &width, &height, &channels) == 0)
    fail(source.name, ": damaged picture: ", stbi_failure_reason());
  check_size(source, static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width));
  constexpr std::int64_t most = 4096;  // pixels per byte: no format here packs more
  check_plausible(source, {height, width}, most);

  const PixelFormat format = wanted_format(source, channels);
  const std::unique_ptr<void, void (*)(void*)> pixels(load(source, format), stbi_image_free);
  if (pixels == nullptr) fail(source.name, ": damaged picture: ", stbi_failure_reason());
  Image image(height, width, format);
  std::memcpy(image.pixels.data(), pixels.get(), image.pixels.size());
  return image;
}

}  // namespace fovea::codec
