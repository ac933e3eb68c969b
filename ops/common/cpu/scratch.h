// Scratch memory of the kernels: one growing buffer per thread and purpose.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fovea::ops::cpu {

enum class Scratch {
  gemm_a,
  gemm_b,
  gemm_sum,
  gemm_between,
  conv,
  conv_shared,
  conv_images,
  conv_panel,
  attention,
  rows,
  count
};

/// At least `bytes` bytes, aligned to 64; valid until this thread's next call for the same
/// purpose.
[[nodiscard]] void* scratch(Scratch purpose, std::size_t bytes);
/// Scratch for row-wise ops: `count` elements of type A.
template <class A>
[[nodiscard, gnu::always_inline]] inline A* row_scratch(std::int64_t count) {
  return static_cast<A*>(scratch(Scratch::rows, static_cast<std::size_t>(count) * sizeof(A)));
}

}  // namespace fovea::ops::cpu
