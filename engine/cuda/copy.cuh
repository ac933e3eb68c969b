// The kernels of engine/kernels.h: strided copies, accumulation, sums over axes, finite check.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "engine/cuda/call_list.cuh"
#include "engine/cuda/items.cuh"
#include "engine/cuda/launch.cuh"
#include "engine/dtype.h"
#include "engine/kernels.h"

namespace fovea::cuda {

/// The offset of each operand, in elements, at row-major position `index`.
template <std::size_t N>
struct Offsets {
  std::int64_t at[N] = {};

  FOVEA_HD Offsets(const StridedAxes<N>& axes, std::int64_t index) {
    for (int axis = axes.rank - 1; axis > 0; --axis) {
      const Division place = divide(index, axes.shape[axis]);
      index = place.quotient;
      for (std::size_t k = 0; k < N; ++k) at[k] += place.remainder * axes.strides[k][axis];
    }
    for (std::size_t k = 0; k < N; ++k) at[k] += index * axes.strides[k][0];
  }
};

template <class To, class From>
FOVEA_HD To converted(From value) {
  return static_cast<To>(static_cast<acc_t<From>>(value));
}

/// The wider type of a sum.
template <class To, class From>
using Sum = decltype(acc_t<To>{} + acc_t<From>{});
template <class To, class From>
FOVEA_HD To added(To to, From from) {
  return static_cast<To>(static_cast<Sum<To, From>>(static_cast<acc_t<To>>(to)) +
                         static_cast<Sum<To, From>>(static_cast<acc_t<From>>(from)));
}

/// Elements that a thread converts together: 16 bytes of the narrower type, at least 8 elements.
template <class To, class From>
inline constexpr int kTogether = sizeof(To) == 1 || sizeof(From) == 1 ? 16 : 8;

/// The contiguous forms of the two kernels after them.
template <class To, class From>
__global__ void copy_items_kernel(To* to, const From* from, std::int64_t count) {
  for_items<kTogether<To, From>>(count, [&](std::int64_t i, auto n) {
    const auto in = Items<n, From>::load(from + i);
    Items<n, To> out;
    for (int k = 0; k < n; ++k) out.v[k] = converted<To>(in.v[k]);
    out.store(to + i);
  });
}
template <class To, class From>
__global__ void add_items_kernel(To* to, const From* from, std::int64_t count) {
  for_items<kTogether<To, From>>(count, [&](std::int64_t i, auto n) {
    const auto in = Items<n, From>::load(from + i);
    auto out = Items<n, To>::load(to + i);
    for (int k = 0; k < n; ++k) out.v[k] = added(out.v[k], in.v[k]);
    out.store(to + i);
  });
}

template <class To, class From>
__global__ void copy_kernel(To* to, const From* from, const __grid_constant__ StridedAxes<2> axes) {
  for (std::int64_t i = grid_thread(); i < axes.count; i += grid_threads()) {
    const Offsets<2> offsets(axes, i);
    const To value = converted<To>(from[offsets.at[1]]);
    to[offsets.at[0]] = value;
  }
}

template <class To, class From>
__global__ void add_kernel(To* to, const From* from, const __grid_constant__ StridedAxes<2> axes) {
  for (std::int64_t i = grid_thread(); i < axes.count; i += grid_threads()) {
    const Offsets<2> offsets(axes, i);
    To& y = to[offsets.at[0]];
    y = added(y, from[offsets.at[1]]);
  }
}

/// y [kept, chunks]: sums in f64. Chunk c of a sum adds the elements c, c + chunks, ... in order.
template <class To, class From>
__global__ void sum_kernel(To* y, const From* x, const __grid_constant__ StridedAxes<1> kept,
                           const __grid_constant__ StridedAxes<1> reduced, std::int64_t chunks) {
  const bool goes_along_sum = reduced.strides[0][reduced.rank - 1] == 1;
  for (std::int64_t i = grid_thread(); i < kept.count * chunks; i += grid_threads()) {
    const Division at = divide(i, goes_along_sum ? chunks : kept.count);
    const std::int64_t result = goes_along_sum ? at.quotient : at.remainder;
    const std::int64_t chunk = goes_along_sum ? at.remainder : at.quotient;
    const std::int64_t first = Offsets<1>(kept, result).at[0];
    double sum = 0;
    for (std::int64_t r = chunk; r < reduced.count; r += chunks) {
      sum += static_cast<double>(static_cast<acc_t<From>>(x[first + Offsets<1>(reduced, r).at[0]]));
    }
    y[result * chunks + chunk] = static_cast<To>(static_cast<acc_t<To>>(sum));
  }
}

/// Clears *finite when an element is NaN or infinite.
template <class T>
__global__ void finite_kernel(std::int64_t* finite, const T* x,
                              const __grid_constant__ StridedAxes<1> axes) {
  bool is_finite = true;
  for (std::int64_t i = grid_thread(); i < axes.count; i += grid_threads()) {
    const auto value = static_cast<acc_t<T>>(x[Offsets<1>(axes, i).at[0]]);
    is_finite = is_finite && value - value == 0;
  }
  if (!is_finite) atomicAnd(reinterpret_cast<unsigned long long*>(finite), 0ull);
}

template <class T>
__global__ void fill_kernel(T* y, T value, const __grid_constant__ StridedAxes<1> axes) {
  for (std::int64_t i = grid_thread(); i < axes.count; i += grid_threads()) {
    y[Offsets<1>(axes, i).at[0]] = value;
  }
}

inline constexpr unsigned kSumColumns = 32, kSumRows = 8;

/// A block sums 32 columns of one call: its thread (c, r) the parts r, r + 8, ... of column c, and
/// the first eight of a column are then added in order.
template <class T>
__global__ void late_sums_kernel(
    const __grid_constant__ SharedParameter<CallList<LateSumCall>> list) {
  const int index = list->call_of(blockIdx.x);
  const LateSumCall& c = list->calls[index];
  const std::int64_t column =
      static_cast<std::int64_t>(blockIdx.x - list->starts[index]) * kSumColumns + threadIdx.x;
  T* const sums = dynamic_shared<T>();
  T sum = 0;
  if (column < c.columns) {
    const T* const from = static_cast<const T*>(c.from) + column;
    for (std::int64_t part = threadIdx.y; part < c.parts; part += kSumRows) {
      sum += from[part * c.stride];
    }
  }
  sums[threadIdx.y * kSumColumns + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= c.columns) return;
  for (unsigned row = 1; row < kSumRows; ++row) sum += sums[row * kSumColumns + threadIdx.x];
  T& result = static_cast<T*>(c.sum)[column];
  result = c.adds ? result + sum : sum;
}

template <class T>
void run_late_sums(std::span<const LateSumCall> calls) {
  const auto sized = [](const LateSumCall& c) { return std::pair(c.dtype, c.columns); };
  for_lists(calls, kSumColumns, dtype_of<T>, sized, [](const CallList<LateSumCall>& list) {
    launch(current_stream(), late_sums_kernel<T>, list.blocks(), dim3(kSumColumns, kSumRows),
           kSumColumns * kSumRows * sizeof(T), list);
  });
}

inline constexpr unsigned kCopyBlock = 256;

inline bool is_contiguous(const StridedAxes<2>& axes) {
  return axes.rank == 1 && axes.strides[0][0] == 1 && axes.strides[1][0] == 1;
}

/// Launches `items` where both tensors are one aligned run of elements, else `strided`.
template <class To, class From>
void run_pairwise(void (*items)(To*, const From*, std::int64_t),
                  void (*strided)(To*, const From*, StridedAxes<2>), To* to, const From* from,
                  const StridedAxes<2>& axes) {
  if (is_contiguous(axes) && are_aligned({to, from})) {
    launch(current_stream(), items, blocks_for(axes.count / kTogether<To, From>, kCopyBlock),
           kCopyBlock, 0, to, from, axes.count);
  } else {
    launch(current_stream(), strided, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0, to, from,
           axes);
  }
}

template <class To, class From>
void run_copy(To* to, const From* from, const StridedAxes<2>& axes) {
  run_pairwise(copy_items_kernel<To, From>, copy_kernel<To, From>, to, from, axes);
}

template <class To, class From>
void run_add(To* to, const From* from, const StridedAxes<2>& axes) {
  run_pairwise(add_items_kernel<To, From>, add_kernel<To, From>, to, from, axes);
}

/// Chunks per sum: enough to occupy all threads and to let a warp walk along one sum, but still
/// several elements per thread.
inline std::int64_t chunks_of(std::int64_t sums, std::int64_t elements) {
  constexpr std::int64_t kThreads = 1 << 16, kMinElements = 16;
  const std::int64_t wanted = std::max<std::int64_t>(kWarp, kThreads / sums);
  return std::clamp<std::int64_t>(elements / kMinElements, 1, wanted);
}

/// An axis of `count` elements, `stride` apart.
inline StridedAxes<1> one_axis(std::int64_t count, std::int64_t stride) {
  StridedAxes<1> axes;
  axes.rank = 1;
  axes.count = axes.shape[0] = count;
  axes.strides[0][0] = stride;
  return axes;
}

/// Sums in rounds; each round leaves one partial sum per chunk.
template <class To, class From>
void run_sum(To* y, const From* x, const StridedAxes<1>& kept, const StridedAxes<1>& reduced) {
  const std::int64_t chunks = chunks_of(kept.count, reduced.count), sums = kept.count * chunks;
  const auto start = [&](auto* to) {
    launch(current_stream(), sum_kernel<std::remove_pointer_t<decltype(to)>, From>,
           blocks_for(sums, kCopyBlock), kCopyBlock, 0, to, x, kept, reduced, chunks);
  };
  if (chunks == 1) return start(y);
  const Storage parts = temporary(sums, DType::f64);
  auto* const to = reinterpret_cast<double*>(parts.data());
  start(to);
  run_sum(y, static_cast<const double*>(to), one_axis(kept.count, chunks), one_axis(chunks, 1));
}

template <class T>
void run_fill(T* y, T value, const StridedAxes<1>& axes) {
  launch(current_stream(), fill_kernel<T>, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0, y,
         value, axes);
}

/// *finite must be non-zero on entry.
template <class T>
void run_finite(std::int64_t* finite, const T* x, const StridedAxes<1>& axes) {
  launch(current_stream(), finite_kernel<T>, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0,
         finite, x, axes);
}

}  // namespace fovea::cuda
