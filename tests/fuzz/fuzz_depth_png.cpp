// Fuzzes the reader of 16-bit depth maps: any bytes give metres that are written and read back
// equal, or an Error.
#include <cstdint>
#include <span>

#include "data/codecs/depth_png.h"
#include "engine/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t most_pixels = 1 << 14;  // keeps every input fast
  try {
    const fovea::Image metres =
        fovea::decode_depth_png(std::span(data, size), "input", most_pixels);
    const std::string file = fovea::encode_depth_png(metres);
    if (!(fovea::decode_depth_png(fovea::as_u8(file), "copy") == metres)) __builtin_trap();
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
