// Fuzzes the reader of packed data sets: any bytes give entries inside of them, or an Error.
// Checksums are corrected first, because otherwise every modified input would fail there.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "data/sources/packed/pack_format.h"
#include "engine/base/crc32c.h"
#include "engine/base/error.h"

namespace {

using fovea::pack::kTrailerBytes;

std::uint64_t number_at(const std::string& bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

void put_crc(std::string& bytes, std::size_t at, std::string_view summed) {
  const std::uint32_t crc = fovea::crc32c(summed);
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(crc >> (8 * i) & 0xFF);
}

void repair(std::string& bytes) {
  if (bytes.size() < kTrailerBytes) return;
  const std::size_t trailer = bytes.size() - kTrailerBytes;
  const auto part = [&](std::uint64_t offset, std::uint64_t size) {
    const std::uint64_t from = std::min<std::uint64_t>(offset, bytes.size());
    return std::string_view(bytes).substr(from, size);
  };
  const std::uint64_t index_bytes = number_at(bytes, trailer + 8) * fovea::pack::kEntryBytes;
  put_crc(bytes, trailer + 32, part(number_at(bytes, trailer), index_bytes));
  put_crc(bytes, trailer + 36,
          part(number_at(bytes, trailer + 16), number_at(bytes, trailer + 24)));
  put_crc(bytes, trailer + 40, part(trailer, 40));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  repair(bytes);
  try {
    const auto contents = fovea::pack::read_contents(fovea::MemoryBytes(bytes, "input"), "input");
    for (const fovea::pack::ImageEntry& entry : contents.entries) {
      if (entry.offset > size || entry.length > size - entry.offset) __builtin_trap();
      if (entry.label >= contents.classes.size()) __builtin_trap();
    }
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
