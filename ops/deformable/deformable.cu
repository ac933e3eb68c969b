// Deformable attention on CUDA. Forward: one thread per channel of a query's head. Derivative: one
// thread per point for locations and weights; for the values, one block per row of a head's map
// gathers from all points in order, so that no two threads add to one cell.
#include "ops/common/cuda/block_reduce.cuh"
#include "ops/common/cuda/planes.cuh"
#include "ops/deformable/call.h"
#include "ops/deformable/sample_point.h"

namespace fovea::ops::cuda {

using detail::Cell;
using detail::SamplePoint;

/// The channels of a head at cell 0; cells are heads * channels apart.
template <class T>
__device__ const T* deformable_value(const DeformableCall& c, std::int64_t image,
                                     std::int64_t head) {
  return static_cast<const T*>(c.value) +
         (image * c.height * c.width * c.heads + head) * c.channels;
}

template <class T>
__global__ void deformable_kernel(PlaneGrid results, DeformableCall c) {
  using A = acc_t<T>;
  const std::int64_t step = c.heads * c.channels;
  for_each_point(results, [&](const PlanePoint& at) {
    const auto [head, channel] = divide(at.x, c.channels);
    const T* const value = deformable_value<T>(c, at.plane, head) + channel;
    const std::int64_t first = ((at.plane * c.queries + at.y) * c.heads + head) * c.points;
    A sum = 0;
    for (std::int64_t p = first; p < first + c.points; ++p) {
      const A weight = static_cast<const A*>(c.weights)[p];
      const SamplePoint<A> sample(static_cast<const A*>(c.locations) + 2 * p, c.height, c.width);
      sample.for_each_cell(c.height, c.width, [&](const Cell<A>& cell) {
        sum += weight * cell.share * static_cast<A>(value[cell.index * step]);
      });
    }
    static_cast<T*>(c.y)[at.index] = static_cast<T>(sum);
  });
}

/// Gradients of the locations and weights.
template <class T>
__global__ void deformable_point_grad_kernel(PlaneGrid points, DeformableGradCall g) {
  using A = acc_t<T>;
  const DeformableCall& c = g.forward;
  for_each_point(points, [&](const PlanePoint& at) {
    const std::int64_t head = divide(at.x, c.points).quotient;
    const T* const value = deformable_value<T>(c, at.plane, head);
    const std::int64_t row = (at.plane * c.queries + at.y) * c.heads + head;
    const T* const dy = static_cast<const T*>(g.dy) + row * c.channels;
    const SamplePoint<A> sample(static_cast<const A*>(c.locations) + 2 * at.index, c.height,
                                c.width);
    A dweight = 0, dx = 0, dy_cells = 0;
    sample.for_each_cell(c.height, c.width, [&](const Cell<A>& cell) {
      const T* const from = value + cell.index * c.heads * c.channels;
      A product = 0;
      for (std::int64_t i = 0; i < c.channels; ++i) {
        product += static_cast<A>(dy[i]) * static_cast<A>(from[i]);
      }
      dweight += cell.share * product;
      dx += cell.slope_x * product;
      dy_cells += cell.slope_y * product;
    });
    const A weight = static_cast<const A*>(c.weights)[at.index];
    static_cast<A*>(g.dweights)[at.index] = dweight;
    A* const dlocation = static_cast<A*>(g.dlocations) + 2 * at.index;
    dlocation[0] = weight * dx * static_cast<A>(c.width);
    dlocation[1] = weight * dy_cells * static_cast<A>(c.height);
  });
}

/// What a point adds to one row of the map: shares of dy to columns x and x + 1.
template <class A>
struct RowHit {
  std::int64_t x;
  A left, right;  ///< 0 for columns outside the map
  bool is_hit;
};

template <class A>
__device__ RowHit<A> hit_of(const DeformableCall& c, std::int64_t point, std::int64_t row) {
  const SamplePoint<A> sample(static_cast<const A*>(c.locations) + 2 * point, c.height, c.width);
  const A weight = static_cast<const A*>(c.weights)[point];
  RowHit<A> hit{sample.x, 0, 0, false};
  sample.for_each_cell(c.height, c.width, [&](const Cell<A>& cell) {
    const auto [y, x] = divide(cell.index, c.width);
    if (y != row) return;
    (x == sample.x ? hit.left : hit.right) = weight * cell.share;
    hit.is_hit = true;
  });
  return hit;
}

/// A warp owns every fourth column of the row, a lane every 32nd channel. to: the row's first
/// column.
template <class T>
__device__ void add_hit(const DeformableCall& c, const RowHit<acc_t<T>>& hit, const T* dy,
                        acc_t<T>* to) {
  using A = acc_t<T>;
  for (int side = 0; side < 2; ++side) {
    const std::int64_t x = hit.x + side;
    if (x < 0 || x >= c.width || x % kRowWarps != threadIdx.x / kWarp) continue;
    A* const cell = to + x * c.heads * c.channels;
    const A share = side == 0 ? hit.left : hit.right;
    for (std::int64_t i = threadIdx.x % kWarp; i < c.channels; i += kWarp) {
      cell[i] += share * static_cast<A>(dy[i]);
    }
  }
}

/// Gradient of the values: blocks by (image, head, row of the map).
template <class T>
__global__ void deformable_value_grad_kernel(DeformableGradCall g) {
  using A = acc_t<T>;
  const DeformableCall& c = g.forward;
  auto* const hits = fovea::cuda::dynamic_shared<RowHit<A>>();
  const std::int64_t count = c.queries * c.points, rows = c.batch * c.heads * c.height;
  for (std::int64_t block = blockIdx.x; block < rows; block += gridDim.x) {
    const auto [slice, row] = divide(block, c.height);
    const auto [image, head] = divide(slice, c.heads);
    A* const to = static_cast<A*>(g.dvalue) +
                  ((image * c.height + row) * c.width * c.heads + head) * c.channels;
    for (std::int64_t first = 0; first < count; first += kRowBlock) {
      const std::int64_t own = first + threadIdx.x;
      __syncthreads();  // all threads have used the previous hits
      if (own < count) {
        const auto [q, p] = divide(own, c.points);
        hits[threadIdx.x] =
            hit_of<A>(c, ((image * c.queries + q) * c.heads + head) * c.points + p, row);
      }
      __syncthreads();
      for (std::int64_t i = first; i < first + kRowBlock && i < count; ++i) {
        if (!hits[i - first].is_hit) continue;
        const std::int64_t q = divide(i, c.points).quotient;
        const T* const dy =
            static_cast<const T*>(g.dy) + ((image * c.queries + q) * c.heads + head) * c.channels;
        add_hit<T>(c, hits[i - first], dy, to);
      }
    }
  }
}

inline void deformable_forward(const DeformableCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    launch_points({c.batch, c.queries, c.heads * c.channels}, deformable_kernel<decltype(tag)>, c);
  });
}

inline void deformable_backward(const DeformableGradCall& g) {
  const DeformableCall& c = g.forward;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_points({c.batch, c.queries, c.heads * c.points}, deformable_point_grad_kernel<T>, g);
    const std::int64_t rows = c.batch * c.heads * c.height;
    if (g.dvalue == nullptr || rows == 0) return;
    launch(current_stream(), deformable_value_grad_kernel<T>, fovea::cuda::blocks_for(rows, 1),
           kRowBlock, kRowBlock * sizeof(RowHit<acc_t<T>>), g);
  });
}

extern const DeformableKernels deformable_kernels{deformable_forward, deformable_backward};

}  // namespace fovea::ops::cuda
