// Order statistics on CUDA by counting: the rank of an element is the number of elements before
// it. One thread per element reads its whole row.
#include "ops/common/cuda/planes.cuh"
#include "ops/order/call.h"

namespace fovea::ops::cuda {

/// Whether x precedes y, ignoring positions. NaN counts as the largest value.
template <class A>
__device__ bool stands_before(A x, A y, Order order) {
  const bool x_is_nan = x != x, y_is_nan = y != y;
  if (x_is_nan || y_is_nan) {
    if (x_is_nan == y_is_nan) return false;
    return order == Order::rising ? y_is_nan : x_is_nan;
  }
  return order == Order::falling ? x > y : x < y;
}

template <class T>
__global__ void first_positions_kernel(PlaneGrid elements, FirstPositionsCall c) {
  using A = acc_t<T>;
  for_each_point(elements, [&](const PlanePoint& at) {
    const T* const row = static_cast<const T*>(c.x) + at.plane * c.width;
    const A own = static_cast<A>(row[at.x]);
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < c.width; ++j) {
      const A other = static_cast<A>(row[j]);
      const bool is_first =
          stands_before(other, own, c.order) || (j < at.x && !stands_before(own, other, c.order));
      before += is_first;
    }
    if (before < c.count) c.positions[at.plane * c.count + before] = at.x;
  });
}

template <class T>
__global__ void values_at_kernel(PlaneGrid places, ValuesAtCall c) {
  for_each_point(places, [&](const PlanePoint& at) {
    static_cast<T*>(c.values)[at.index] =
        static_cast<const T*>(c.x)[at.plane * c.width + c.positions[at.index]];
  });
}

template <class T>
__global__ void scatter_kernel(PlaneGrid places, ValuesAtCall c) {
  for_each_point(places, [&](const PlanePoint& at) {
    static_cast<T*>(c.x)[at.plane * c.width + c.positions[at.index]] =
        static_cast<const T*>(c.values)[at.index];
  });
}

inline void first_positions(const FirstPositionsCall& c) {
  dispatch_any(c.dtype, [&](auto tag) {
    launch_points({c.rows, 1, c.width}, first_positions_kernel<decltype(tag)>, c);
  });
}
inline void values_at(const ValuesAtCall& c) {
  dispatch_any(c.dtype, [&](auto tag) {
    launch_points({c.rows, 1, c.count}, values_at_kernel<decltype(tag)>, c);
  });
}
inline void scatter(const ValuesAtCall& c) {
  dispatch_any(c.dtype, [&](auto tag) {
    launch_points({c.rows, 1, c.count}, scatter_kernel<decltype(tag)>, c);
  });
}

extern const OrderKernels order_kernels{first_positions, values_at, scatter};

}  // namespace fovea::ops::cuda
