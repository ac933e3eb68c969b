// Kernels behind engine/copy.h: strided copies, accumulation, un-broadcasting, finite check.
#pragma once

#include <cmath>

#include "engine/cuda/launch.cuh"
#include "engine/dtype.h"
#include "engine/shape.h"

namespace fovea::cuda {

/// A shape and the strides of two operands, as plain numbers for kernels.
struct Geometry {
  int rank = 0;
  std::int64_t count = 0;
  std::int64_t shape[Shape::kMaxRank] = {};
  std::int64_t first[Shape::kMaxRank] = {};
  std::int64_t second[Shape::kMaxRank] = {};
};

inline Geometry geometry(const Shape& shape, const Strides& first, const Strides& second) {
  Geometry g;
  g.rank = shape.rank();
  g.count = shape.numel();
  for (int i = 0; i < g.rank; ++i) {
    g.shape[i] = shape[i];
    g.first[i] = first[i];
    g.second[i] = second[i];
  }
  return g;
}

struct OffsetPair {
  std::int64_t first, second;
};

/// Offsets of row-major position `index` in both operands.
FOVEA_HD inline OffsetPair offsets_at(const Geometry& g, std::int64_t index) {
  OffsetPair at{0, 0};
  for (int axis = g.rank - 1; axis >= 0; --axis) {
    const std::int64_t position = index % g.shape[axis];
    index /= g.shape[axis];
    at.first += position * g.first[axis];
    at.second += position * g.second[axis];
  }
  return at;
}

template <class To, class From>
FOVEA_HD To converted(From value) {
  return static_cast<To>(static_cast<acc_t<From>>(value));
}

template <class To, class From>
__global__ void copy_kernel(To* to, const From* from, Geometry g) {
  for (std::int64_t i = grid_thread(); i < g.count; i += grid_threads()) {
    const OffsetPair at = offsets_at(g, i);
    to[at.first] = converted<To>(from[at.second]);
  }
}

template <class To, class From>
__global__ void add_kernel(To* to, const From* from, Geometry g) {
  using Sum = decltype(acc_t<To>{} + acc_t<From>{});
  for (std::int64_t i = grid_thread(); i < g.count; i += grid_threads()) {
    const OffsetPair at = offsets_at(g, i);
    to[at.first] = static_cast<To>(static_cast<Sum>(static_cast<acc_t<To>>(to[at.first])) +
                                   static_cast<Sum>(static_cast<acc_t<From>>(from[at.second])));
  }
}

/// y[i] = sum over the reduced positions, in row-major order, in f64. `kept.first` are the strides
/// of x along the kept axes, `reduced.first` along the summed ones.
template <class T>
__global__ void sum_kernel(T* y, const T* x, Geometry kept, Geometry reduced) {
  for (std::int64_t i = grid_thread(); i < kept.count; i += grid_threads()) {
    const std::int64_t base = offsets_at(kept, i).first;
    double sum = 0;
    for (std::int64_t r = 0; r < reduced.count; ++r) {
      sum += static_cast<double>(static_cast<acc_t<T>>(x[base + offsets_at(reduced, r).first]));
    }
    y[i] = static_cast<T>(static_cast<acc_t<T>>(sum));
  }
}

/// Clears *finite when an element is NaN or infinite. All writers write the same value.
template <class T>
__global__ void finite_kernel(int* finite, const T* x, Geometry g) {
  for (std::int64_t i = grid_thread(); i < g.count; i += grid_threads()) {
    const auto value = static_cast<acc_t<T>>(x[offsets_at(g, i).first]);
    if (!(value - value == 0)) *finite = 0;
  }
}

inline constexpr unsigned kCopyBlock = 256;

template <class To, class From>
void run_copy(To* to, const From* from, const Geometry& g) {
  launch(copy_kernel<To, From>, blocks_for(g.count, kCopyBlock), kCopyBlock, 0, to, from, g);
}

template <class To, class From>
void run_add(To* to, const From* from, const Geometry& g) {
  launch(add_kernel<To, From>, blocks_for(g.count, kCopyBlock), kCopyBlock, 0, to, from, g);
}

template <class T>
void run_sum(T* y, const T* x, const Geometry& kept, const Geometry& reduced) {
  launch(sum_kernel<T>, blocks_for(kept.count, kCopyBlock), kCopyBlock, 0, y, x, kept, reduced);
}

template <class T>
void run_finite(int* finite, const T* x, const Geometry& g) {
  launch(finite_kernel<T>, blocks_for(g.count, kCopyBlock), kCopyBlock, 0, finite, x, g);
}

}  // namespace fovea::cuda
