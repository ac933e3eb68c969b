// stb_image: BMP and GIF always, JPEG and PNG in builds without their libraries.
// Its other formats stay out: the fuzzer finds overflows in 2.27 (16-bit PNM).
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#include <stb_image.h>

#include <cstring>
#include <limits>
#include <memory>

#include "base/error.h"
#include "data/codecs/codec.h"

namespace fovea::codec {

Image decode_stb(const Source& source) {
  check(source.bytes.size() <= std::numeric_limits<int>::max(), source.name, ": got ",
        source.bytes.size(), " bytes, expected less than 2 GiB");
  const auto size = static_cast<int>(source.bytes.size());
  int width = 0, height = 0, channels = 0;
  if (stbi_info_from_memory(source.bytes.data(), size, &width, &height, &channels) == 0)
    fail(source.name, ": damaged picture: ", stbi_failure_reason());
  check_size(source, static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width));
  constexpr std::int64_t most = 4096;  // pixels of a byte: no format here packs more of them
  check_plausible(source, {height, width}, most);

  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(source.bytes.data(), size, &width, &height, &channels,
                            Image::kChannels),
      stbi_image_free);
  if (pixels == nullptr) fail(source.name, ": damaged picture: ", stbi_failure_reason());
  Image image(height, width);
  std::memcpy(image.pixels.data(), pixels.get(), image.pixels.size());
  return image;
}

}  // namespace fovea::codec
