// Average and max pooling on CUDA: one thread per window. Derivatives use one thread per pixel,
// which gathers from the windows that cover it, in order.
#include "ops/common/cuda/block_reduce.cuh"
#include "ops/common/cuda/planes.cuh"
#include "ops/common/run_sum.h"
#include "ops/pool/call.h"

namespace fovea::ops::cuda {

__device__ inline std::int64_t divisor(const PoolWindows& w, std::int64_t i, std::int64_t j) {
  if (w.count_padding) return w.height.padded_count(i) * w.width.padded_count(j);
  return (w.height.last(i) - w.height.first(i)) * (w.width.last(j) - w.width.first(j));
}

/// Calls visit(position in x) for the pixels of a window, row by row.
template <class Visit>
__device__ void for_each_pixel(const PoolWindows& w, const PlanePoint& at, const Visit& visit) {
  const std::int64_t left = w.width.first(at.x), right = w.width.last(at.x);
  for (std::int64_t y = w.height.first(at.y); y < w.height.last(at.y); ++y) {
    const std::int64_t row = (at.plane * w.height.size + y) * w.width.size;
    for (std::int64_t x = left; x < right; ++x) visit(row + x);
  }
}

template <class T>
__global__ void average_kernel(PlaneGrid windows, PoolCall c) {
  using A = acc_t<T>;
  const T* const from = static_cast<const T*>(c.x);
  const PoolWindows& w = c.windows;
  for_each_point(windows, [&](const PlanePoint& at) {
    detail::RunSum<A> sum;
    for_each_pixel(w, at, [&](std::int64_t i) { sum.add(static_cast<A>(from[i])); });
    static_cast<T*>(c.y)[at.index] =
        static_cast<T>(sum.total() / static_cast<A>(divisor(w, at.y, at.x)));
  });
}

/// Position of the first maximum, or of the first NaN.
template <class T>
__global__ void maximum_kernel(PlaneGrid windows, PoolCall c) {
  using A = acc_t<T>;
  const T* const from = static_cast<const T*>(c.x);
  const PoolWindows& w = c.windows;
  for_each_point(windows, [&](const PlanePoint& at) {
    std::int64_t best = -1;
    A largest = 0;
    for_each_pixel(w, at, [&](std::int64_t i) {
      const A value = static_cast<A>(from[i]);
      if (best >= 0 && !(value > largest || (value != value && largest == largest))) return;
      best = i;
      largest = value;
    });
    static_cast<T*>(c.y)[at.index] = from[best];
    c.positions[at.index] = best;
  });
}

/// The windows along an axis that cover a position.
struct WindowsOver {
  std::int64_t first, last;  ///< [first, last)

  __device__ WindowsOver(const PoolAxis& a, std::int64_t position) {
    const std::int64_t reach = position + a.padding - a.kernel;  // just before the first window
    first = reach < 0 ? 0 : divide(reach, a.stride).quotient + 1;
    last = divide(position + a.padding, a.stride).quotient + 1;
    last = last < a.out ? last : a.out;
  }
};

/// dx of a pixel: the sum of share(window's row, column, index) over the windows that cover it.
template <class T, class Share>
__device__ void gather(const PlaneGrid& pixels, const PoolGradCall& c, const Share& share) {
  using A = acc_t<T>;
  const PoolWindows& w = c.windows;
  for_each_point(pixels, [&](const PlanePoint& at) {
    const WindowsOver rows(w.height, at.y), columns(w.width, at.x);
    A sum = 0;
    for (std::int64_t i = rows.first; i < rows.last; ++i) {
      for (std::int64_t j = columns.first; j < columns.last; ++j) {
        sum += share(i, j, (at.plane * w.height.out + i) * w.width.out + j, at.index);
      }
    }
    static_cast<A*>(c.dx)[at.index] = sum;
  });
}

template <class T>
__global__ void average_grad_kernel(PlaneGrid pixels, PoolGradCall c) {
  using A = acc_t<T>;
  gather<T>(pixels, c, [&](std::int64_t i, std::int64_t j, std::int64_t window, std::int64_t) {
    return static_cast<A>(static_cast<const T*>(c.dy)[window]) /
           static_cast<A>(divisor(c.windows, i, j));
  });
}

template <class T>
__global__ void maximum_grad_kernel(PlaneGrid pixels, PoolGradCall c) {
  using A = acc_t<T>;
  gather<T>(pixels, c, [&](std::int64_t, std::int64_t, std::int64_t window, std::int64_t pixel) {
    return c.positions[window] == pixel ? static_cast<A>(static_cast<const T*>(c.dy)[window])
                                        : A(0);
  });
}

inline PlaneGrid windows_of(const PoolWindows& w) { return {w.planes, w.height.out, w.width.out}; }
inline PlaneGrid pixels_of(const PoolWindows& w) { return {w.planes, w.height.size, w.width.size}; }

inline void average(const PoolCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points(windows_of(c.windows), average_kernel<decltype(tag)>, c);
  });
}
inline void average_grad(const PoolGradCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points(pixels_of(c.windows), average_grad_kernel<decltype(tag)>, c);
  });
}
inline void maximum(const PoolCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points(windows_of(c.windows), maximum_kernel<decltype(tag)>, c);
  });
}
inline void maximum_grad(const PoolGradCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points(pixels_of(c.windows), maximum_grad_kernel<decltype(tag)>, c);
  });
}

extern const PoolKernels pool_kernels{average, average_grad, maximum, maximum_grad};

}  // namespace fovea::ops::cuda
