// Device functions that kernels use. This header and tensor_core.cuh are the only ones that
// distinguish the two targets: a GPU, compiled by nvcc, and the emulator of tests/cuda, compiled by
// a C++ compiler, which provides the same functions in emulator/device.h and fake/cuda_runtime.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace fovea::cuda {

/// Size elements of T, read or written in one access: 16 bytes by default.
template <class T, int Size = 16 / sizeof(T)>
struct alignas(Size * sizeof(T)) Pack {
  static constexpr int kSize = Size;
  T v[kSize];
};

}  // namespace fovea::cuda

#ifdef FOVEA_EMULATE
namespace fovea::cuda {

using fake::start_kernel;

template <int Bytes = 16, class T>
Pack<T, Bytes / sizeof(T)> load_pack(const T* from) {
  Pack<T, Bytes / sizeof(T)> pack;
  emulate::load(&pack, from, sizeof pack);
  return pack;
}
template <class T>
void store_pack(T* to, const Pack<T>& pack) {
  emulate::store(to, &pack, sizeof pack);
}

/// Before a loop that is to stay one, where the registers of several rounds would not suffice.
#define FOVEA_ROLLED

/// A large parameter of a kernel, which all threads share.
template <class T>
class SharedParameter {
 public:
  SharedParameter(const T& value) : value_(&value) {}  // NOLINT(google-explicit-constructor)
  const T* operator->() const { return value_; }

 private:
  const T* value_;
};
/// What a launch keeps of a parameter.
template <class Param>
struct Kept {
  using Type = Param;
};
template <class T>
struct Kept<SharedParameter<T>> {
  using Type = T;
};

}  // namespace fovea::cuda
#else
namespace fovea::cuda {

#define FOVEA_ROLLED _Pragma("unroll 1")

/// Copies 16 bytes or, if so said, 8 or 4, to which `from` and `to` are aligned.
template <int Bytes = 16, class T>
__device__ Pack<T, Bytes / sizeof(T)> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, Bytes / sizeof(T)>*>(from);
}
template <class T>
__device__ void store_pack(T* to, const Pack<T>& pack) {
  *reinterpret_cast<Pack<T>*>(to) = pack;
}

template <class T>
class SharedParameter {
 public:
  explicit SharedParameter(const T& value) : value_(value) {}
  __device__ const T* operator->() const { return &value_; }

 private:
  T value_;
};
template <class Param>
struct Kept {
  using Type = Param;
};

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

}  // namespace fovea::cuda
#endif
