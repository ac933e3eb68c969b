// FNV-1a: pins many bytes with one number.
#pragma once

#include <cstdint>
#include <span>

#include "data/image.h"
#include "engine/tensor.h"

namespace fovea::tests {

inline std::uint64_t hash_bytes(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

inline std::uint64_t hash_of(const Image& image) { return hash_bytes(image.pixels); }

inline std::uint64_t hash_of(const Tensor& tensor) {
  const std::size_t bytes = static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype());
  return hash_bytes({reinterpret_cast<const std::uint8_t*>(tensor.raw()), bytes});
}

/// 11 x 13, every channel different: what the files of tests/fuzz/corpus/image were made from.
inline Image sample_image() {
  Image image(11, 13);
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; ++x)
      for (int c = 0; c < Image::kChannels; ++c)
        image.at(y, x)[c] = static_cast<std::uint8_t>(x * 19 + y * 7 * (c + 1) + c * 40);
  return image;
}

}  // namespace fovea::tests
