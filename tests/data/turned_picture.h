// Picture files with an orientation in their EXIF data.
#pragma once

#include <cstdint>
#include <string>

#include "data/image.h"
#include "engine/base/crc32.h"

namespace fovea::tests {

inline std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xFF);
  return bytes;
}

/// EXIF data: a TIFF file whose directory has the orientation after another entry.
inline std::string exif_data(int orientation, bool little = true) {
  using namespace std::string_literals;
  const auto value = static_cast<char>(orientation);
  if (little) {
    return "II*\0\x08\0\0\0\x02\0"s + "\x0F\x01\x02\0\x01\0\0\0a\0\0\0"s +
           "\x12\x01\x03\0\x01\0\0\0"s + value + "\0\0\0\0\0\0\0"s;
  }
  return "MM\0*\0\0\0\x08\0\x01"s + "\x01\x12\0\x03\0\0\0\x01\0"s + value + "\0\0\0\0\0\0"s;
}

/// The PNG file of an image, with an eXIf chunk after its header.
inline std::string turned_png(const Image& image, int orientation, bool little = true) {
  constexpr std::size_t kHeaderEnd = 33;
  const std::string data = exif_data(orientation, little), typed = "eXIf" + data;
  std::string file = encode_png(image);
  file.insert(kHeaderEnd, big_endian(static_cast<std::uint32_t>(data.size())) + typed +
                              big_endian(crc32(typed)));
  return file;
}

}  // namespace fovea::tests
