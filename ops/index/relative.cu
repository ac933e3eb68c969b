// Gather and sum by relative position on CUDA, one thread per result. Buckets above the limit have
// been reported to the host (index.cu) and count as none.
#include "ops/common/cuda/planes.cuh"
#include "ops/index/cuda.h"

namespace fovea::ops::cuda {

template <class T>
__global__ void relative_gather_kernel(PlaneGrid results, RelativeCall c) {
  using A = acc_t<T>;
  for_each_point(results, [&](const PlanePoint& at) {
    const T* const x = static_cast<const T*>(c.x) + (at.plane * c.queries + at.y) * c.count;
    A sum = 0;
    for (std::int64_t k = 0; k < c.kinds; ++k) {
      const std::int64_t bucket = c.buckets[(k * c.queries + at.y) * c.keys + at.x];
      if (bucket >= 0 && bucket < c.count) sum += static_cast<A>(x[bucket]);
    }
    static_cast<T*>(c.y)[at.index] = static_cast<T>(sum);
  });
}

template <class T>
__global__ void relative_sum_kernel(PlaneGrid results, RelativeCall c) {
  using A = acc_t<T>;
  for_each_point(results, [&](const PlanePoint& at) {
    const T* const x = static_cast<const T*>(c.x) + (at.plane * c.queries + at.y) * c.keys;
    A sum = 0;
    for (std::int64_t k = 0; k < c.kinds; ++k) {
      const std::int64_t* const buckets = c.buckets + (k * c.queries + at.y) * c.keys;
      for (std::int64_t j = 0; j < c.keys; ++j) {
        if (buckets[j] == at.x) sum += static_cast<A>(x[j]);
      }
    }
    static_cast<T*>(c.y)[at.index] = static_cast<T>(sum);
  });
}

void relative_gather(const RelativeCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points({c.pairs, c.queries, c.keys}, relative_gather_kernel<decltype(tag)>, c);
  });
}

void relative_sum(const RelativeCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points({c.pairs, c.queries, c.count}, relative_sum_kernel<decltype(tag)>, c);
  });
}

}  // namespace fovea::ops::cuda
