// Requests for memory ahead of its use, where the hardware cannot guess what is next.
#pragma once

#include <cstdint>

namespace fovea::ops::cpu::FOVEA_ISA {

enum class Access { read, write };

/// Asks for the cache lines of `count` elements, into the cache of level 1 or 2. (Not inlined, GCC
/// would drop the call: it takes a function that only prefetches for one without effect.)
template <int kLevel, Access kAccess, class T>
[[gnu::always_inline]] inline void prefetch(const T* p, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t i = 0; i < count; i += kLine) {
    __builtin_prefetch(p + i, kAccess == Access::write, 4 - kLevel);
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
