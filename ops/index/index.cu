// Indexed reads, indexed additions and one-hot rows on CUDA. An index out of range is reported to
// the host (engine/cuda/fault.h) and otherwise skipped.
#include "engine/cuda/fault.h"
#include "ops/common/cuda/block_reduce.cuh"
#include "ops/index/cuda.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::Fault;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;

inline constexpr unsigned kIndexThreads = 128;

struct MinOf {
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

/// A single block finds the lowest position, so that the result does not depend on timing.
__global__ void first_outside_kernel(const std::int64_t* index, std::int64_t count, Fault found,
                                     Fault* fault) {
  std::int64_t first = count;
  for (std::int64_t i = threadIdx.x; i < count && first == count; i += kRowBlock) {
    if (index[i] < found.low || index[i] >= found.limit) first = i;
  }
  first = block_reduce(first, MinOf{});
  if (threadIdx.x != 0 || first == count || fault->op != nullptr) return;
  found.position = first;
  found.value = index[first];
  *fault = found;
}

inline void first_outside(const FirstOutsideCall& c) {
  *c.position = -1;
  if (c.count == 0) return;
  const Fault found{c.op.data(), static_cast<std::int64_t>(c.op.size()), 0, 0, c.low, c.limit};
  launch(current_stream(), first_outside_kernel, 1, kRowBlock, kRowWarps * sizeof(std::int64_t),
         c.index, c.count, found, fovea::cuda::fault_to_fill());
}

/// Offsets of element `position` (row-major) of `many`, excluding the indexed axis of `one`.
struct PairOffsets {
  std::int64_t one = 0, many = 0, index = 0;

  __device__ PairOffsets(const IndexPairs& p, std::int64_t position) {
    for (int axis = p.rank - 1; axis >= 0; --axis) {
      const Division place = divide(position, p.shape[axis]);
      const std::int64_t at = place.remainder;
      position = place.quotient;
      if (axis != p.axis) one += at * p.one[axis];
      many += at * p.many[axis];
      index += at * p.index[axis];
    }
  }
};

template <class T>
__global__ void read_at_kernel(IndexPairs p, T* many, const T* one, std::int64_t count,
                               std::int64_t size) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const PairOffsets at(p, i);
    const std::int64_t place = p.at[at.index];
    const bool is_inside = place >= 0 && place < size;
    many[at.many] = is_inside ? one[at.one + place * p.one[p.axis]] : T(acc_t<T>(0));
  }
}

/// Elements that may contribute to the same element share all positions but the indexed one: one
/// thread per such line walks it in order.
template <class T, class A>
__global__ void add_at_kernel(IndexPairs p, A* one, const T* many, std::int64_t lines,
                              std::int64_t size) {
  std::int64_t behind = 1;  // elements of `many` between neighbours along the axis
  for (int axis = p.axis + 1; axis < p.rank; ++axis) behind *= p.shape[axis];
  const std::int64_t length = p.shape[p.axis];
  for (std::int64_t line = grid_thread(); line < lines; line += grid_threads()) {
    const auto [before, after] = divide(line, behind);
    const std::int64_t first = before * behind * length + after;
    for (std::int64_t k = 0; k < length; ++k) {
      const PairOffsets at(p, first + k * behind);
      const std::int64_t place = p.at[at.index];
      if (place < 0 || place >= size) continue;
      one[at.one + place * p.one[p.axis]] += static_cast<A>(many[at.many]);
    }
  }
}

template <class T>
__global__ void one_hot_kernel(T* y, const std::int64_t* ids, std::int64_t count,
                               std::int64_t classes) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    if (ids[i] >= 0 && ids[i] < classes) y[i * classes + ids[i]] = T(acc_t<T>(1));
  }
}

inline std::int64_t element_count(const IndexPairs& p) {
  std::int64_t count = 1;
  for (int axis = 0; axis < p.rank; ++axis) count *= p.shape[axis];
  return count;
}

inline void read_at(const ReadAtCall& c) {
  const std::int64_t count = element_count(c.pairs);
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch(current_stream(), read_at_kernel<T>, blocks_for(count, kIndexThreads), kIndexThreads, 0,
           c.pairs, static_cast<T*>(c.many), static_cast<const T*>(c.one), count, c.size);
  });
}

inline void add_at(const AddAtCall& c) {
  const std::int64_t lines = element_count(c.pairs) / c.pairs.shape[c.pairs.axis];
  dispatch_float(c.dtype, [&](auto from) {
    dispatch_wide(c.sum_dtype, [&](auto to) {
      using T = decltype(from);
      using A = decltype(to);
      launch(current_stream(), add_at_kernel<T, A>, blocks_for(lines, kIndexThreads), kIndexThreads,
             0, c.pairs, static_cast<A*>(c.one), static_cast<const T*>(c.many), lines, c.size);
    });
  });
}

inline void one_hot(const OneHotCall& c) {
  if (c.count == 0) return;
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch(current_stream(), one_hot_kernel<T>, blocks_for(c.count, kIndexThreads), kIndexThreads,
           0, static_cast<T*>(c.y), c.ids, c.count, c.classes);
  });
}

extern const IndexKernels index_kernels{first_outside, read_at,         add_at,
                                        one_hot,       relative_gather, relative_sum};

}  // namespace fovea::ops::cuda
