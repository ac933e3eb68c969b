// Eight table look-ups take eight bytes at once ("slicing by 8", Kounavis and Berry 2008); no
// processor has an instruction for this polynomial.
#include "engine/base/crc32.h"

#include <array>
#include <cstring>

namespace fovea {
namespace {

constexpr int kSlices = 8;
using CrcTable = std::array<std::array<std::uint32_t, 256>, kSlices>;

/// table[0][b] is the effect of a byte b, table[k][b] that of b followed by k zero bytes.
constexpr CrcTable make_table() {
  constexpr std::uint32_t polynomial = 0xEDB88320;  // 0x04C11DB7 with its bits reversed
  CrcTable table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    table[0][byte] = crc;
  }
  for (int k = 1; k < kSlices; ++k) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = table[k - 1][byte];
      table[k][byte] = (shorter >> 8) ^ table[0][shorter & 0xFF];
    }
  }
  return table;
}
constexpr CrcTable kTable = make_table();

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kSlices; left -= kSlices, at += kSlices) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    word ^= crc;
    crc = 0;
    for (int k = 0; k < kSlices; ++k) {
      crc ^= kTable[kSlices - 1 - k][(word >> (8 * k)) & 0xFF];
    }
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8) ^ kTable[0][(crc ^ static_cast<unsigned char>(*at)) & 0xFF];
  }
  return ~crc;
}

}  // namespace fovea
