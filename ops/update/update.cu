// Optimizer steps, moving averages and clipping on CUDA, of all tensors in one launch. Sums of
// squares use the same blocks as on the CPU; one thread block adds each in a fixed order.
#include <type_traits>
#include <vector>

#include "engine/cuda/call_list.cuh"
#include "ops/common/cuda/block_reduce.cuh"
#include "ops/common/cuda/row_items.cuh"
#include "ops/update/formulas.h"

namespace fovea::ops::cuda {

using fovea::cuda::are_aligned;
using fovea::cuda::blocks_for;
using fovea::cuda::CallList;
using fovea::cuda::for_lists;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;
using fovea::cuda::SharedParameter;

inline constexpr unsigned kUpdateThreads = 256;
inline constexpr std::int64_t kChunk = 4096;  ///< elements of one tensor that a block updates
inline constexpr int kAtOnce = 8;             ///< adjacent elements that a thread updates at once

struct SizedCall {
  DType dtype;
  std::int64_t count;
};
struct SizeOf {
  template <class Call>
  FOVEA_HD SizedCall operator()(const Call& c) const {
    if constexpr (requires { c.arrays; }) {
      return {c.arrays.dtype, c.arrays.count};
    } else {
      return {c.dtype, c.count};
    }
  }
};

/// Calls step.update<n>(i), which changes the elements i, ..., i + n - 1, for each element of the
/// block's chunk; step is Step(call) and reads the step's scalars.
template <class Step, class Call>
__global__ void each_kernel(const __grid_constant__ SharedParameter<CallList<Call>> list) {
  const int index = list->call_of(blockIdx.x);
  const Call& call = list->calls[index];
  if constexpr (!std::is_same_v<Call, LambCall>) {  // whose directions are read in any case
    if (detail::is_void(call)) return;
  }
  const Step step(call);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x - list->starts[index]) * kChunk;
  const std::int64_t count = SizeOf{}(call).count;
  const std::int64_t end = begin + kChunk < count ? begin + kChunk : count;
  const std::int64_t whole = step.is_aligned() ? end - (end - begin) % kAtOnce : begin;
  for (std::int64_t i = begin + kAtOnce * threadIdx.x; i < whole; i += kAtOnce * kUpdateThreads) {
    step.template update<kAtOnce>(i);
  }
  for (std::int64_t i = whole + threadIdx.x; i < end; i += kUpdateThreads) {
    step.template update<1>(i);
  }
}
/// Step is Steps<T> of the calls' type T.
template <template <class> class Steps, class Call>
void for_each_element(Calls<Call> calls) {
  const auto run = [&](auto zero) {
    for_lists(calls, kChunk, dtype_of<decltype(zero)>, SizeOf{}, [](const CallList<Call>& list) {
      launch(current_stream(), each_kernel<Steps<decltype(zero)>, Call>, list.blocks(),
             kUpdateThreads, 0, list);
    });
  };
  run(float{});
  run(double{});
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

  [[nodiscard]] __device__ bool is_aligned() const { return are_aligned({p, m, v, g}); }
};

/// Writes new values of a parameter and what follows them.
template <class T>
struct Writer {
  T* p;
  T* average;
  bf16* copy;
  detail::AverageStep<T> step;

  __device__ Writer(void* parameter, const Follower& follower, const StepRates& rates)
      : p(static_cast<T*>(parameter)),
        average(static_cast<T*>(follower.average)),
        copy(follower.copy),
        step(average == nullptr ? 0 : rates.now->average_decay) {}
  [[nodiscard]] __device__ bool is_aligned() const { return are_aligned({p, average, copy}); }

  template <int N>
  __device__ void write(std::int64_t i, const Items<N, T>& values) const {
    values.store(p + i);
    if (average != nullptr) {
      auto averages = Items<N, T>::load(average + i);
      for (int k = 0; k < N; ++k) averages.v[k] = step(averages.v[k], values.v[k]);
      averages.store(average + i);
    }
    if (copy != nullptr) {
      Items<N, bf16> rounded;
      for (int k = 0; k < N; ++k) rounded.v[k] = static_cast<bf16>(values.v[k]);
      rounded.store(copy + i);
    }
  }
};

template <class T>
struct AdamWElement {
  Arrays<T> at;
  Writer<T> to;
  detail::AdamStep<T> adam;
  T keep;

  __device__ explicit AdamWElement(const AdamWCall& c)
      : at(c.arrays),
        to(c.arrays.p, c.arrays.follower, c.rates),
        adam(c.adam, *c.rates.now, c.rates.lr()),
        keep(static_cast<T>(detail::kept(c.rates))) {}
  [[nodiscard]] __device__ bool is_aligned() const { return at.is_aligned() && to.is_aligned(); }

  template <int N>
  __device__ void update(std::int64_t i) const {
    const auto g = Items<N, T>::load(at.g + i);
    auto p = Items<N, T>::load(at.p + i), m = Items<N, T>::load(at.m + i),
         v = Items<N, T>::load(at.v + i);
    for (int k = 0; k < N; ++k) {
      const T direction = adam(g.v[k], m.v[k], v.v[k]);
      p.v[k] = p.v[k] * keep - direction;
    }
    m.store(at.m + i);
    v.store(at.v + i);
    to.write(i, p);
  }
};

template <class T>
struct LambElement {
  Arrays<T> at;
  detail::AdamStep<T> adam;
  T decay;
  T* u;
  bool keeps_moments;

  __device__ explicit LambElement(const LambCall& c)
      : at(c.arrays),
        adam(c.adam, *c.rates.now, 1),
        decay(static_cast<T>(c.rates.weight_decay)),
        u(static_cast<T*>(c.u)),
        keeps_moments(detail::is_void(c)) {}
  [[nodiscard]] __device__ bool is_aligned() const { return at.is_aligned() && are_aligned({u}); }

  template <int N>
  __device__ void update(std::int64_t i) const {
    const auto g = Items<N, T>::load(at.g + i), p = Items<N, T>::load(at.p + i);
    auto m = Items<N, T>::load(at.m + i), v = Items<N, T>::load(at.v + i);
    Items<N, T> direction;
    for (int k = 0; k < N; ++k) {
      direction.v[k] = adam(g.v[k], m.v[k], v.v[k]) + decay * p.v[k];
    }
    direction.store(u + i);
    if (keeps_moments) return;
    m.store(at.m + i);
    v.store(at.v + i);
  }
};

/// The common kernel of SGD and Lion.
template <class T, class Step>
struct MomentumElement {
  Arrays<T> at;
  Writer<T> to;
  Step step;

  template <class Call>
  __device__ explicit MomentumElement(const Call& c)
      : at(c.arrays), to(c.arrays.p, c.arrays.follower, c.rates), step(c) {}
  [[nodiscard]] __device__ bool is_aligned() const { return at.is_aligned() && to.is_aligned(); }

  template <int N>
  __device__ void update(std::int64_t i) const {
    const auto g = Items<N, T>::load(at.g + i);
    auto p = Items<N, T>::load(at.p + i), m = Items<N, T>::load(at.m + i);
    for (int k = 0; k < N; ++k) step(g.v[k], p.v[k], m.v[k]);
    m.store(at.m + i);
    to.write(i, p);
  }
};
template <class T>
using SgdElement = MomentumElement<T, detail::SgdStep<T>>;
template <class T>
using LionElement = MomentumElement<T, detail::LionStep<T>>;

/// Each thread adds the few sums by itself.
template <class T>
struct MoveElement {
  const T* u;
  Writer<T> to;
  T keep, rate;

  __device__ explicit MoveElement(const MoveCall& c)
      : u(static_cast<const T*>(c.u)),
        to(c.p, c.follower, c.rates),
        keep(static_cast<T>(detail::kept(c.rates, c.keep))),
        rate(static_cast<T>(detail::move_rate(c, blocks_of(c.count)))) {}
  [[nodiscard]] __device__ bool is_aligned() const { return are_aligned({u}) && to.is_aligned(); }

  template <int N>
  __device__ void update(std::int64_t i) const {
    const auto from = Items<N, T>::load(u + i);
    auto p = Items<N, T>::load(to.p + i);
    for (int k = 0; k < N; ++k) p.v[k] = p.v[k] * keep - rate * from.v[k];
    to.write(i, p);
  }
};

template <class T>
struct AverageElement {
  T* average;
  const T* value;
  detail::AverageStep<T> step;

  __device__ explicit AverageElement(const AverageCall& c)
      : average(static_cast<T*>(c.average)), value(static_cast<const T*>(c.value)), step(c) {}
  [[nodiscard]] __device__ bool is_aligned() const { return are_aligned({average, value}); }

  template <int N>
  __device__ void update(std::int64_t i) const {
    const auto from = Items<N, T>::load(value + i);
    auto to = Items<N, T>::load(average + i);
    for (int k = 0; k < N; ++k) to.v[k] = step(to.v[k], from.v[k]);
    to.store(average + i);
  }
};

template <class T>
struct RestoreElement {
  T* x;
  const T* before;

  __device__ explicit RestoreElement(const RestoreCall& c)
      : x(static_cast<T*>(c.x)), before(static_cast<const T*>(c.before)) {}
  [[nodiscard]] __device__ bool is_aligned() const { return are_aligned({x, before}); }

  template <int N>
  __device__ void update(std::int64_t i) const {
    Items<N, T>::load(before + i).store(x + i);
  }
};

template <class T>
__global__ void clip_values_kernel(ClipValuesCall c) {
  auto* const g = static_cast<T*>(c.g);
  const T bound = static_cast<T>(c.limit);
  for (std::int64_t i = grid_thread(); i < c.count; i += grid_threads()) {
    const T x = g[i];
    g[i] = x < -bound ? -bound : (x > bound ? bound : x);  // NaN stays NaN
  }
}

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

/// One thread block per kUpdateBlock elements.
template <class T>
__global__ void squares_kernel(
    const __grid_constant__ SharedParameter<CallList<SquaresCall>> list) {
  const int index = list->call_of(blockIdx.x);
  const SquaresCall& c = list->calls[index];
  const std::int64_t block = blockIdx.x - list->starts[index];
  const std::int64_t begin = block * kUpdateBlock;
  const std::int64_t end = begin + kUpdateBlock < c.count ? begin + kUpdateBlock : c.count;
  const double sum = block_sum_of_squares(static_cast<const T*>(c.x), begin, end);
  if (threadIdx.x == 0) c.sums[block] = sum;
}

__global__ void judge_kernel(JudgeCall c) { detail::judge(c); }

__global__ void limit_kernel(LimitCall c) { c.now->gradient_scale = detail::limited(c); }

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

inline void adamw(const Calls<AdamWCall>& calls) { for_each_element<AdamWElement>(calls); }
inline void average(const Calls<AverageCall>& calls) { for_each_element<AverageElement>(calls); }
inline void lion(const Calls<LionCall>& calls) { for_each_element<LionElement>(calls); }
inline void move(const Calls<MoveCall>& calls) { for_each_element<MoveElement>(calls); }
inline void restore(const Calls<RestoreCall>& calls) { for_each_element<RestoreElement>(calls); }
inline void sgd(const Calls<SgdCall>& calls) { for_each_element<SgdElement>(calls); }

inline void squares(const Calls<SquaresCall>& calls) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    for_lists(calls, kUpdateBlock, dtype_of<T>, SizeOf{}, [](const CallList<SquaresCall>& list) {
      launch(current_stream(), squares_kernel<T>, list.blocks(), kRowBlock,
             kRowWarps * sizeof(double), list);
    });
  };
  run(float{});
  run(double{});
  run(bf16{});
}

inline void lamb(const Calls<LambCall>& calls) {
  for_each_element<LambElement>(calls);
  std::vector<SquaresCall> sums;
  for (const LambCall& c : calls) {
    const auto [dtype, count] = SizeOf{}(c);
    sums.push_back({dtype, count, c.arrays.p, c.squares});
    sums.push_back({dtype, count, c.u, c.squares + blocks_of(count)});
  }
  squares(sums);
}

inline void judge(const JudgeCall& c) { launch(current_stream(), judge_kernel, 1, 1, 0, c); }

inline void limit(const LimitCall& c) { launch(current_stream(), limit_kernel, 1, 1, 0, c); }

inline void clip_values(const ClipValuesCall& c) {
  if (c.count == 0) return;
  dispatch_wide(c.dtype, [&](auto zero) {
    launch(current_stream(), clip_values_kernel<decltype(zero)>,
           blocks_for(c.count, kUpdateThreads), kUpdateThreads, 0, c);
  });
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
                                          .judge = judge,
                                          .lamb = lamb,
                                          .limit = limit,
                                          .lion = lion,
                                          .move = move,
                                          .restore = restore,
                                          .sgd = sgd,
                                          .squares = squares};

}  // namespace fovea::ops::cuda
