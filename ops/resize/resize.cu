// Applies a sparse matrix along one axis on CUDA, one thread per result.
#include "ops/common/cuda/planes.cuh"
#include "ops/resize/call.h"

namespace fovea::ops::cuda {

template <class T>
__global__ void resize_kernel(PlaneGrid results, ResizeCall c) {
  for_each_point(results, [&](const PlanePoint& at) {
    const T* const x = static_cast<const T*>(c.x) + at.plane * c.columns * c.inner + at.x;
    T sum = 0;
    for (std::int64_t k = c.begin[at.y]; k < c.begin[at.y + 1]; ++k) {
      sum += static_cast<T>(c.weight[k]) * x[c.index[k] * c.inner];
    }
    static_cast<T*>(c.y)[at.index] = sum;
  });
}

inline void apply(const ResizeCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    launch_points({c.outer, c.rows, c.inner}, resize_kernel<decltype(tag)>, c);
  });
}

extern const ResizeKernels resize_kernels{apply};

}  // namespace fovea::ops::cuda
