// mma.sync and ldmatrix for a warp, with fragments distributed over its lanes as in the PTX manual,
// and the conversions and approximations beside them.
#pragma once

#include <cstdint>

namespace fovea::emulate {

enum class Mma {
  bf16,  ///< m16n8k16, two per word
  tf32,  ///< m16n8k8, one per word; the lower 13 bits are ignored
};

/// D += A B. Machine::rounding 0: summed in f64 and rounded once. Otherwise as in Fasi et al.,
/// Numerical behavior of NVIDIA tensor cores (2021), on a GPU without extra bits: the terms, and D,
/// are cut off at the last place of the largest, and their sum at the last place of an f32.
void mma(Mma kind, float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void load_matrices(std::uint32_t (&words)[4], const void* row, bool transposed);

/// e^x, the nearest f32.
[[nodiscard]] float exponential(float x);
/// To 10 bits after the point, halves away from zero.
[[nodiscard]] std::uint32_t round_to_tf32(float x);
/// ex2.approx.ftz: Machine::rounding 0: the nearest f32. Otherwise off by the 2 ULP that the PTX
/// manual allows, up or down by a hash of x and the seed.
[[nodiscard]] float approximate_exp2(float x);

}  // namespace fovea::emulate
