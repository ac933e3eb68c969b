// Losses on CUDA: one warp per row, or one block per run of elements; one block adds the sums in a
// fixed order. The upstream gradient stays on the device.
#include "ops/common/cuda/row_items.cuh"
#include "ops/common/math.h"
#include "ops/loss/call.h"
#include "ops/loss/elements.h"

namespace fovea::ops::cuda {

namespace math = fovea::ops::detail::math;
using fovea::cuda::blocks_for;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;

inline constexpr std::size_t kBlockShared = kRowWarps * sizeof(double);

template <class T>
__device__ double value_of(const void* scalar) {
  return static_cast<double>(*static_cast<const T*>(scalar));
}

/// *loss = factor / divisor times the sum of parts, in one block.
template <class T>
__global__ void total_kernel(T* loss, const double* parts, std::int64_t count, double factor,
                             double divisor) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kRowBlock) sum += parts[i];
  sum = block_reduce(sum, SumOf{});
  if (threadIdx.x == 0) *loss = static_cast<T>(factor * sum / divisor);
}
template <class T>
void add_parts(void* loss, const double* parts, std::int64_t count, double factor, double divisor) {
  launch(current_stream(), total_kernel<T>, 1, kRowBlock, kBlockShared, static_cast<T*>(loss),
         parts, count, factor, divisor);
}

/// A label out of range has been reported to the host (index.cu); its row counts as if it had no
/// class.
template <class T, int N>
__global__ void label_loss_kernel(LabelLossCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const log_p = static_cast<const T*>(c.log_p) + row * c.width;
  double sum = 0;
  if (c.smoothing != 0) {
    along_row<N>(c.width, [&](std::int64_t i) {
      const auto in = Items<N, T>::load(log_p + i);
      for (int j = 0; j < N; ++j) sum += static_cast<double>(in.v[j]);
    });
    sum = warp_reduce(sum, SumOf{});
  }
  if (threadIdx.x % kWarp != 0) return;
  const std::int64_t label = c.labels[row];
  const bool is_class = label >= 0 && label < c.width;
  const double own = is_class ? static_cast<double>(log_p[label]) : 0;
  c.parts[row] = -(1 - c.smoothing) * own - c.smoothing / static_cast<double>(c.width) * sum;
}

template <class T, int N>
__global__ void label_loss_grad_kernel(LabelLossCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const std::int64_t label = c.labels[row];
  const T scale = static_cast<T>(value_of<T>(c.dy) / static_cast<double>(c.rows));
  const T even = static_cast<T>(c.smoothing / static_cast<double>(c.width));
  const T own = static_cast<T>(1 - c.smoothing);
  const T* const log_p = static_cast<const T*>(c.log_p) + row * c.width;
  T* const dx = static_cast<T*>(c.dx) + row * c.width;
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(log_p + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) {
      out.v[j] = (math::exp(in.v[j]) - even) * scale - (i + j == label ? own * scale : T(0));
    }
    out.store(dx + i);
  });
}

template <class T, int N, bool Log>
__global__ void target_loss_kernel(TargetLossCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const log_p = static_cast<const T*>(c.log_p) + row * c.width;
  const T* const target = static_cast<const T*>(c.target) + row * c.width;
  double sum = 0;
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(log_p + i), wanted = Items<N, T>::load(target + i);
    for (int j = 0; j < N; ++j) {
      const T t = Log ? math::exp(wanted.v[j]) : wanted.v[j];
      if (t == T(0)) continue;
      sum += static_cast<double>(Log ? t * (wanted.v[j] - in.v[j]) : -(t * in.v[j]));
    }
  });
  sum = warp_reduce(sum, SumOf{});
  if (threadIdx.x % kWarp == 0) c.parts[row] = sum;
}

template <class T, int N, bool Log>
__global__ void target_loss_grad_kernel(TargetLossCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const log_p = static_cast<const T*>(c.log_p) + row * c.width;
  const T* const target = static_cast<const T*>(c.target) + row * c.width;
  T* const dx = static_cast<T*>(c.dx) + row * c.width;
  const T scale = static_cast<T>(value_of<T>(c.dy) * c.factor / c.divisor);
  const auto probability = [](T t) { return Log ? math::exp(t) : t; };
  T mass = 0;
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto wanted = Items<N, T>::load(target + i);
    for (int j = 0; j < N; ++j) mass += probability(wanted.v[j]);
  });
  mass = warp_reduce(mass, SumOf{});
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(log_p + i), wanted = Items<N, T>::load(target + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) {
      out.v[j] = (math::exp(in.v[j]) * mass - probability(wanted.v[j])) * scale;
    }
    out.store(dx + i);
  });
}

template <class Loss, class T>
__global__ void element_loss_kernel(ElementLossCall c) {
  const auto *const x = static_cast<const T*>(c.x), *const t = static_cast<const T*>(c.target);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * c.run;
  const std::int64_t end = begin + c.run < c.n ? begin + c.run : c.n;
  double sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kRowBlock) {
    sum += static_cast<double>(Loss::value(x[i], t[i]));
  }
  sum = block_reduce(sum, SumOf{});
  if (threadIdx.x == 0) c.parts[blockIdx.x] = sum;
}

template <class Loss, class T>
__global__ void element_loss_grad_kernel(ElementLossCall c) {
  const auto *const x = static_cast<const T*>(c.x), *const t = static_cast<const T*>(c.target);
  auto* const dx = static_cast<T*>(c.dx);
  const T scale = static_cast<T>(value_of<T>(c.dy) / static_cast<double>(c.n));
  for (std::int64_t i = grid_thread(); i < c.n; i += grid_threads()) {
    dx[i] = Loss::slope(x[i], t[i]) * scale;
  }
}

inline void label_loss(const LabelLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_rows<T>(c, {c.log_p},
                   [](auto items) { return label_loss_kernel<T, decltype(items)::value>; });
    add_parts<T>(c.loss, c.parts, c.rows, 1, static_cast<double>(c.rows));
  });
}

inline void label_loss_grad(const LabelLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_rows<T>(c, {c.log_p, c.dx},
                   [](auto items) { return label_loss_grad_kernel<T, decltype(items)::value>; });
  });
}

inline void target_loss(const TargetLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_rows<T>(c, {c.log_p, c.target}, [&](auto items) {
      constexpr int kItems = decltype(items)::value;
      return c.log_target ? target_loss_kernel<T, kItems, true>
                          : target_loss_kernel<T, kItems, false>;
    });
    add_parts<T>(c.loss, c.parts, c.rows, c.factor, c.divisor);
  });
}

inline void target_loss_grad(const TargetLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_rows<T>(c, {c.log_p, c.target, c.dx}, [&](auto items) {
      constexpr int kItems = decltype(items)::value;
      return c.log_target ? target_loss_grad_kernel<T, kItems, true>
                          : target_loss_grad_kernel<T, kItems, false>;
    });
  });
}

/// Calls use(Loss{}, a zero of the dtype's type).
template <class Use>
void with_loss(const ElementLossCall& c, const Use& use) {
  dispatch_wide(c.dtype, [&](auto tag) {
    c.kind == ElementLoss::squared_error ? use(detail::SquaredError{}, tag)
                                         : use(detail::BinaryCrossEntropy{}, tag);
  });
}

inline void element_loss(const ElementLossCall& c) {
  with_loss(c, [&](auto loss, auto tag) {
    using T = decltype(tag);
    const std::int64_t runs = (c.n + c.run - 1) / c.run;
    launch(current_stream(), element_loss_kernel<decltype(loss), T>, static_cast<unsigned>(runs),
           kRowBlock, kBlockShared, c);
    add_parts<T>(c.loss, c.parts, runs, 1, static_cast<double>(c.n));
  });
}

inline void element_loss_grad(const ElementLossCall& c) {
  with_loss(c, [&](auto loss, auto tag) {
    launch(current_stream(), element_loss_grad_kernel<decltype(loss), decltype(tag)>,
           blocks_for(c.n, kRowBlock), kRowBlock, 0, c);
  });
}

extern const LossKernels loss_kernels{label_loss,       label_loss_grad, target_loss,
                                      target_loss_grad, element_loss,    element_loss_grad};

}  // namespace fovea::ops::cuda
