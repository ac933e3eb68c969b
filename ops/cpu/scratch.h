// Working memory of the kernels: one growing buffer per thread and purpose.
#pragma once

#include <cstddef>

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

/// At least `bytes` bytes, aligned to 64, valid until this thread asks for the same purpose again.
[[nodiscard]] void* scratch(Scratch purpose, std::size_t bytes);
/// The same for the row-wise ops.
[[nodiscard]] inline void* scratch_bytes(std::size_t bytes) {
  return scratch(Scratch::rows, bytes);
}

}  // namespace fovea::ops::cpu
