// Interpolation on CUDA: a sparse matrix along one axis, and repeated pixels; one thread per
// result.
#include "ops/common/cuda/planes.cuh"
#include "ops/common/run_sum.h"
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

template <class T>
__global__ void repeat_kernel(PlaneGrid large, UpsampleCall c) {
  for_each_point(large, [&](const PlanePoint& at) {
    const std::int64_t y = divide(at.y, c.factor).quotient, x = divide(at.x, c.factor).quotient;
    static_cast<T*>(c.to)[at.index] =
        static_cast<const T*>(c.from)[(at.plane * c.height + y) * c.width + x];
  });
}

/// Sums each square in row order.
template <class T>
__global__ void square_sums_kernel(PlaneGrid small, UpsampleCall c) {
  using A = acc_t<T>;
  for_each_point(small, [&](const PlanePoint& at) {
    const std::int64_t row = (at.plane * c.height + at.y) * c.factor;
    detail::RunSum<A> sum;
    for (std::int64_t y = 0; y < c.factor; ++y) {
      const T* const from = static_cast<const T*>(c.from) + ((row + y) * c.width + at.x) * c.factor;
      for (std::int64_t x = 0; x < c.factor; ++x) sum.add(static_cast<A>(from[x]));
    }
    static_cast<T*>(c.to)[at.index] = static_cast<T>(sum.total());
  });
}

inline void repeat(const UpsampleCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points({c.planes, c.factor * c.height, c.factor * c.width}, repeat_kernel<decltype(tag)>,
                  c);
  });
}
inline void square_sums(const UpsampleCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points({c.planes, c.height, c.width}, square_sums_kernel<decltype(tag)>, c);
  });
}

extern const ResizeKernels resize_kernels{apply, repeat, square_sums};

}  // namespace fovea::ops::cuda
