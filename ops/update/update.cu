// Optimizer steps, moving averages and clipping on CUDA. Sums of squares use the same blocks as on
// the CPU; one thread block adds each in a fixed order.
#include "ops/common/cuda/block_reduce.cuh"
#include "ops/update/formulas.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;

inline constexpr unsigned kUpdateThreads = 256;

/// Calls step(i) for every element, where step is Step(call): it reads the step's scalars.
template <class Step, class Call>
__global__ void each_kernel(const __grid_constant__ Call call, std::int64_t count) {
  const Step step(call);
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) step(i);
}
template <class Step, class Call>
void for_each_element(const Call& call, std::int64_t count) {
  if (count == 0) return;
  launch(current_stream(), each_kernel<Step, Call>, blocks_for(count, kUpdateThreads),
         kUpdateThreads, 0, call, count);
}

template <class T>
struct Arrays {
  T *p, *m, *v;
  const T* g;

  FOVEA_HD explicit Arrays(const UpdateArrays& a)
      : p(static_cast<T*>(a.p)),
        m(static_cast<T*>(a.m)),
        v(static_cast<T*>(a.v)),
        g(static_cast<const T*>(a.g)) {}
};

template <class T>
struct AdamWElement {
  Arrays<T> at;
  detail::AdamStep<T> adam;
  T keep;

  __device__ explicit AdamWElement(const AdamWCall& c)
      : at(c.arrays),
        adam(c.adam, *c.rates.now, c.rates.lr()),
        keep(static_cast<T>(detail::kept(c.rates))) {}

  __device__ void operator()(std::int64_t i) const {
    T m = at.m[i], v = at.v[i];
    const T direction = adam(at.g[i], m, v);
    at.m[i] = m;
    at.v[i] = v;
    at.p[i] = at.p[i] * keep - direction;
  }
};

template <class T>
struct LambElement {
  Arrays<T> at;
  detail::AdamStep<T> adam;
  T decay;
  T* u;

  __device__ explicit LambElement(const LambCall& c)
      : at(c.arrays),
        adam(c.adam, *c.rates.now, 1),
        decay(static_cast<T>(c.rates.weight_decay)),
        u(static_cast<T*>(c.u)) {}

  __device__ void operator()(std::int64_t i) const {
    T m = at.m[i], v = at.v[i];
    u[i] = adam(at.g[i], m, v) + decay * at.p[i];
    at.m[i] = m;
    at.v[i] = v;
  }
};

/// The common kernel of SGD and Lion.
template <class T, class Step>
struct MomentumElement {
  Arrays<T> at;
  Step step;

  template <class Call>
  __device__ explicit MomentumElement(const Call& c) : at(c.arrays), step(c) {}

  __device__ void operator()(std::int64_t i) const {
    T p = at.p[i], m = at.m[i];
    step(at.g[i], p, m);
    at.p[i] = p;
    at.m[i] = m;
  }
};

template <class T>
struct AverageElement {
  T* average;
  const T* value;
  detail::AverageStep<T> step;

  __device__ explicit AverageElement(const AverageCall& c)
      : average(static_cast<T*>(c.average)), value(static_cast<const T*>(c.value)), step(c) {}

  __device__ void operator()(std::int64_t i) const { average[i] = step(average[i], value[i]); }
};

template <class T>
struct ClipElement {
  T* g;
  T bound;

  __device__ explicit ClipElement(const ClipValuesCall& c)
      : g(static_cast<T*>(c.g)), bound(static_cast<T>(c.limit)) {}

  __device__ void operator()(std::int64_t i) const {
    const T x = g[i];
    g[i] = x < -bound ? -bound : (x > bound ? bound : x);  // NaN stays NaN
  }
};

/// Sums the squares of the elements [begin, end) of x over the block; every thread receives the
/// sum.
template <class T>
__device__ double block_sum_of_squares(const T* x, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kRowBlock) {
    const auto value = static_cast<double>(static_cast<acc_t<T>>(x[i]));
    sum += value * value;
  }
  return block_reduce(sum, SumOf{});
}

/// sums[block], one thread block per kUpdateBlock elements.
template <class T>
__global__ void squares_kernel(double* sums, const T* x, std::int64_t count) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kUpdateBlock;
  const std::int64_t end = begin + kUpdateBlock < count ? begin + kUpdateBlock : count;
  const double sum = block_sum_of_squares(x, begin, end);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
inline std::int64_t block_count(std::int64_t count) {
  return (count + kUpdateBlock - 1) / kUpdateBlock;
}
template <class T>
void sum_squares(double* sums, const T* x, std::int64_t count) {
  if (count == 0) return;
  launch(current_stream(), squares_kernel<T>, static_cast<unsigned>(block_count(count)), kRowBlock,
         kRowWarps * sizeof(double), sums, x, count);
}

/// Each thread adds the few sums by itself.
template <class T>
__global__ void move_kernel(MoveCall c, std::int64_t blocks) {
  auto* const p = static_cast<T*>(c.p);
  const auto* const u = static_cast<const T*>(c.u);
  const T keep = static_cast<T>(detail::kept(c.rates, c.keep));
  const T rate = static_cast<T>(detail::move_rate(c, blocks));
  for (std::int64_t i = grid_thread(); i < c.count; i += grid_threads()) {
    p[i] = p[i] * keep - rate * u[i];
  }
}

/// One thread block per unit.
template <class T>
__global__ void clip_units_kernel(ClipUnitsCall c) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * c.length;
  T* const g = static_cast<T*>(c.g) + first;
  const T* const p = static_cast<const T*>(c.p) + first;
  const double weights = std::sqrt(block_sum_of_squares(p, 0, c.length));
  const double norm = c.scale * std::sqrt(block_sum_of_squares(g, 0, c.length));
  const double limit = c.factor * detail::math::max(weights, ClipUnitsCall::kSmallestWeights);
  if (norm < limit) return;
  const T shrink =
      static_cast<T>(limit / detail::math::max(norm, ClipUnitsCall::kSmallestGradient));
  for (std::int64_t i = threadIdx.x; i < c.length; i += kRowBlock) g[i] *= shrink;
}

inline void adamw(const AdamWCall& c) {
  dispatch_wide(c.arrays.dtype, [&](auto zero) {
    for_each_element<AdamWElement<decltype(zero)>>(c, c.arrays.count);
  });
}

inline void lamb(const LambCall& c) {
  dispatch_wide(c.arrays.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_element<LambElement<T>>(c, c.arrays.count);
    sum_squares(c.squares, static_cast<const T*>(c.arrays.p), c.arrays.count);
    sum_squares(c.squares + block_count(c.arrays.count), static_cast<const T*>(c.u),
                c.arrays.count);
  });
}

inline void lion(const LionCall& c) {
  dispatch_wide(c.arrays.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_element<MomentumElement<T, detail::LionStep<T>>>(c, c.arrays.count);
  });
}

inline void sgd(const SgdCall& c) {
  dispatch_wide(c.arrays.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_element<MomentumElement<T, detail::SgdStep<T>>>(c, c.arrays.count);
  });
}

inline void move(const MoveCall& c) {
  if (c.count == 0) return;
  dispatch_wide(c.dtype, [&](auto zero) {
    launch(current_stream(), move_kernel<decltype(zero)>, blocks_for(c.count, kUpdateThreads),
           kUpdateThreads, 0, c, block_count(c.count));
  });
}

inline void average(const AverageCall& c) {
  dispatch_wide(c.dtype,
                [&](auto zero) { for_each_element<AverageElement<decltype(zero)>>(c, c.count); });
}

inline void squares(const SquaresCall& c) {
  dispatch_float(c.dtype, [&](auto zero) {
    sum_squares(c.sums, static_cast<const decltype(zero)*>(c.x), c.count);
  });
}

inline void clip_values(const ClipValuesCall& c) {
  dispatch_wide(c.dtype,
                [&](auto zero) { for_each_element<ClipElement<decltype(zero)>>(c, c.count); });
}

inline void clip_units(const ClipUnitsCall& c) {
  if (c.units == 0 || c.length == 0) return;
  dispatch_wide(c.dtype, [&](auto zero) {
    launch(current_stream(), clip_units_kernel<decltype(zero)>, static_cast<unsigned>(c.units),
           kRowBlock, kRowWarps * sizeof(double), c);
  });
}

extern const UpdateKernels update_kernels{.adamw = adamw,
                                          .average = average,
                                          .clip_units = clip_units,
                                          .clip_values = clip_values,
                                          .lamb = lamb,
                                          .lion = lion,
                                          .move = move,
                                          .sgd = sgd,
                                          .squares = squares};

}  // namespace fovea::ops::cuda
