// Fuzzes the picture decoders: any bytes give an image or an Error.
#include <cstdint>
#include <span>

#include "data/image.h"
#include "engine/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fovea::DecodeOptions options;
  options.max_pixels = 1 << 14;  // keeps every input fast
  try {
    const fovea::Image image = fovea::decode_image(std::span(data, size), "input", options);
    const auto bytes = static_cast<std::size_t>(image.height * image.width * image.kChannels);
    if (bytes == 0 || bytes != image.pixels.size()) __builtin_trap();
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
