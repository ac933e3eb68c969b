// Instructions of GPUs since compute capability 8.0: products on tensor cores, and asynchronous
// copies into shared memory. In code for older GPUs nothing may call them: test kHasTensorCores.
#pragma once

#include "engine/cuda/launch.cuh"

namespace fovea::cuda {

#ifdef FOVEA_EMULATE
inline constexpr bool kHasTensorCores = true;  // the functions below: tests/cuda/emulator/device.h
#else

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr bool kHasTensorCores = false;
#else
inline constexpr bool kHasTensorCores = true;
#endif

/// D += A B for one warp on tensor cores, with f32 sums. The layout over the lanes is that of the
/// PTX manual for mma.m16n8k16 (two bf16 per word) and mma.m16n8k8 (one tf32 per word).
__device__ inline void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Loads four 8 x 8 matrices of 16-bit elements from shared memory. Lane i supplies the address of
/// row i % 8 of matrix i / 8, aligned to 16 bytes; word m of a lane receives two adjacent elements
/// of matrix m.
__device__ inline void load_matrices(std::uint32_t (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}
/// The same, each matrix transposed.
__device__ inline void load_matrices_transposed(std::uint32_t (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

/// Starts an asynchronous copy into shared memory of Bytes (4 or 16) bytes, to which both pointers
/// are aligned; those from `existing` on become zero and are not read. This thread can read them
/// after wait_copies<n>() when at most n newer groups have been committed; other threads also need
/// a barrier.
template <int Bytes>
__device__ void copy_async(void* shared, const void* global, int existing) {
  static_assert(Bytes == 4 || Bytes == 16);
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  if constexpr (Bytes == 16) {  // past L1: another block reads them next
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                 "r"(existing)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global),
                 "r"(existing)
                 : "memory");
  }
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Newer>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Newer) : "memory");
}

/// Two values rounded to bf16, `low` in the lower half.
__device__ inline std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
/// Rounded to the 10 bits after the point of a TF32, halves away from zero.
__device__ inline std::uint32_t round_to_tf32(float x) {
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
/// e^x as CUDA's library rounds it.
__device__ inline float exponential(float x) { return ::expf(x); }
/// 2^x within 2 ULP; subnormal results become zero.
__device__ inline float approximate_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif

}  // namespace fovea::cuda
