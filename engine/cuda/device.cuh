// Device functions that kernels use. This is the only header that distinguishes the two targets: a
// GPU, compiled by nvcc, and the emulator of tests/cuda, compiled by a C++ compiler, which
// provides the same functions in emulator/device.h and fake/cuda_runtime.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace fovea::cuda {

/// 16 bytes of T, read or written in one access.
template <class T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(T);
  T v[kSize];
};

}  // namespace fovea::cuda

#ifdef FOVEA_EMULATE
namespace fovea::cuda {

using fake::start_kernel;

template <class T>
Pack<T> load_pack(const T* from) {
  Pack<T> pack;
  emulate::load(&pack, from, sizeof pack);
  return pack;
}
template <class T>
void store_pack(T* to, const Pack<T>& pack) {
  emulate::store(to, &pack, sizeof pack);
}

}  // namespace fovea::cuda
#else
namespace fovea::cuda {

/// Copies 16 bytes; `from` and `to` are aligned to 16 bytes.
template <class T>
__device__ Pack<T> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T>*>(from);
}
template <class T>
__device__ void store_pack(T* to, const Pack<T>& pack) {
  *reinterpret_cast<Pack<T>*>(to) = pack;
}

/// Enqueues the kernel with these arguments on the stream. `op` names it in errors.
template <class... Params>
cudaError_t start_kernel(const char* /*op*/, cudaStream_t stream, void (*kernel)(Params...),
                         dim3 grid, dim3 block, std::size_t shared_bytes,
                         std::tuple<Params...> arguments) {
  return std::apply(
      [&](Params&... each) {
        void* pointers[] = {&each...};
        return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers,
                                shared_bytes, stream);
      },
      arguments);
}

/// The block's dynamic shared memory.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
}

/// The block's shared memory for N elements of T; each Tag has its own array.
template <class T, int N, class Tag>
__device__ T* static_shared() {
  __shared__ T array[N];
  return array;
}

/// D += A B for one warp on tensor cores, with f32 sums. The layout over the lanes is that of the
/// PTX manual for mma.m16n8k16 (two bf16 per word) and mma.m16n8k8 (one tf32 per word).
__device__ inline void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
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

/// Starts an asynchronous copy of 16 bytes into shared memory. This thread can read them after
/// wait_copies<n>() when at most n newer groups have been committed; other threads also need a
/// barrier.
__device__ inline void copy_async(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))), "l"(global)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Newer>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Newer) : "memory");
}

}  // namespace fovea::cuda
#endif
