// Uses the crc32 instruction of SSE4.2, which every supported processor has: eight bytes per step.
#include "engine/base/crc32c.h"

#include <nmmintrin.h>

#include <cstring>

namespace fovea {

__attribute__((target("sse4.2"))) std::uint32_t crc32c(std::string_view bytes,
                                                       std::uint32_t before) {
  std::uint64_t crc = ~before;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    crc = _mm_crc32_u64(crc, word);
  }
  auto last = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) last = _mm_crc32_u8(last, static_cast<unsigned char>(*at));
  return ~last;
}

}  // namespace fovea
