// Software prefetch, for access patterns that the hardware prefetcher does not recognise.
#pragma once

#include <cstdint>

namespace fovea::ops::cpu::FOVEA_ISA {

enum class PrefetchKind { read, write };

/// Prefetches the cache lines of `count` elements into the L1 or L2 cache. (Must be inlined: GCC
/// considers a function that only prefetches free of effects and would drop the call.)
template <int kLevel, PrefetchKind kKind, class T>
[[gnu::always_inline]] inline void prefetch(const T* p, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t i = 0; i < count; i += kLine) {
    __builtin_prefetch(p + i, kKind == PrefetchKind::write, 4 - kLevel);
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
