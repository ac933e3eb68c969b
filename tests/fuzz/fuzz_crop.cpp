// Fuzzes decoding a region of a picture: if the whole picture can be decoded, the region has its
// pixels. The first five bytes select the region and whether it may be decoded at reduced size; the
// file follows.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "data/geometry/transforms.h"
#include "data/image.h"
#include "engine/base/error.h"

namespace {

/// Converts two bytes to a range of at least one pixel within a side.
std::array<std::int64_t, 2> range_of(std::uint8_t begin, std::uint8_t length, std::int64_t side) {
  const std::int64_t first = begin * side / 256;
  return {first, first + 1 + length * (side - first - 1) / 255};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t prefix = 5;
  if (size < prefix) return 0;
  const std::span file(data + prefix, size - prefix);
  fovea::DecodeOptions options;
  options.max_pixels = 1 << 14;  // keeps every input fast
  fovea::PixelBox box;
  const fovea::ChooseBox choose = [&](fovea::ImageSize whole) {
    const auto rows = range_of(data[0], data[1], whole.height);
    const auto columns = range_of(data[2], data[3], whole.width);
    return box = {rows[0], rows[1], columns[0], columns[1]};
  };
  try {
    const fovea::Image part = fovea::decode_image(file, "input", choose, options);
    const fovea::Image whole = fovea::decode_image(file, "input", options);
    if (part != fovea::crop(whole, box.top, box.left, box.size())) __builtin_trap();
    options.shrink_to = {1 + data[4] % 16, 1 + data[4] / 16};
    const fovea::Image fast = fovea::decode_image(file, "input", choose, options);
    if (fast.height > part.height || fast.width > part.width) __builtin_trap();
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
