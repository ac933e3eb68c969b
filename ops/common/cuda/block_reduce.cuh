// Combines one value per thread of a block, in a fixed order.
#pragma once

#include "engine/cuda/launch.cuh"
#include "engine/device.h"

namespace fovea::ops::cuda {

using fovea::cuda::current_stream;
using fovea::cuda::dynamic_shared;
using fovea::cuda::kWarp;
using fovea::cuda::launch;
using fovea::cuda::warp_reduce;

inline constexpr unsigned kRowBlock = 128;  ///< threads per row: four warps
inline constexpr unsigned kRowWarps = kRowBlock / kWarp;

struct MaxOf {
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a != a || a > b ? a : b;  // a NaN on either side is kept
  }
};

struct SumOf {
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a + b;
  }
};

/// Combines one value per thread over the block; every thread receives the result.
template <class T, class Combine>
__device__ T block_reduce(T value, Combine combine) {
  T* const partial = dynamic_shared<T>();
  value = warp_reduce(value, combine);
  __syncthreads();  // all threads have read the previous result
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  T result = partial[0];
  for (unsigned warp = 1; warp < kRowWarps; ++warp) result = combine(result, partial[warp]);
  return result;
}

}  // namespace fovea::ops::cuda
