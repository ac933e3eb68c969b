// mma.sync and ldmatrix for a warp, with fragments distributed over its lanes as in the PTX manual.
#pragma once

#include <cstdint>

namespace fovea::emulate {

enum class Mma {
  bf16,  ///< m16n8k16, two per word
  tf32,  ///< m16n8k8, one per word; the lower 13 bits are ignored
};

/// D += A B, summed in f64 and rounded once.
void mma(Mma kind, float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void load_matrices(std::uint32_t (&words)[4], const void* row, bool transposed);

}  // namespace fovea::emulate
