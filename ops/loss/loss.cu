// Losses on CUDA: a thread block a row, or a run of elements; their sums are added by one thread in
// order. The upstream gradient stays on the device.
#include "ops/common/block_reduce.cuh"
#include "ops/common/math.h"
#include "ops/loss/call.h"
#include "ops/loss/elements.h"

namespace fovea::ops::cuda {

namespace math = fovea::ops::detail::math;
using fovea::cuda::blocks_for;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;

inline constexpr std::size_t kRowShared = kRowWarps * sizeof(double);

template <class T>
__device__ double value_of(const void* scalar) {
  return static_cast<double>(*static_cast<const T*>(scalar));
}

/// *loss = factor sum of parts.
template <class T>
__global__ void total_kernel(T* loss, const double* parts, std::int64_t count, double factor) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += parts[i];
  *loss = static_cast<T>(factor * sum);
}
template <class T>
void add_parts(void* loss, const double* parts, std::int64_t count, double factor) {
  launch(current_stream(), total_kernel<T>, 1, 1, 0, static_cast<T*>(loss), parts, count, factor);
}

/// A label outside of the classes has been noted (index.cu); its row counts as if no class were.
template <class T>
__global__ void label_loss_kernel(LabelLossCall c) {
  const std::int64_t row = blockIdx.x, label = c.labels[row];
  const T* const log_p = static_cast<const T*>(c.log_p) + row * c.width;
  double sum = 0;
  if (c.smoothing != 0) {
    for (std::int64_t k = threadIdx.x; k < c.width; k += kRowBlock) {
      sum += static_cast<double>(log_p[k]);
    }
    sum = block_reduce(sum, SumOf{});
  }
  if (threadIdx.x != 0) return;
  const bool is_class = label >= 0 && label < c.width;
  const double own = is_class ? static_cast<double>(log_p[label]) : 0;
  c.parts[row] = -(1 - c.smoothing) * own - c.smoothing / static_cast<double>(c.width) * sum;
}

template <class T>
__global__ void label_loss_grad_kernel(LabelLossCall c) {
  const std::int64_t count = c.rows * c.width;
  const T scale = static_cast<T>(value_of<T>(c.dy) / static_cast<double>(c.rows));
  const T even = static_cast<T>(c.smoothing / static_cast<double>(c.width));
  const T own = static_cast<T>(1 - c.smoothing);
  const auto* const log_p = static_cast<const T*>(c.log_p);
  auto* const dx = static_cast<T*>(c.dx);
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const bool is_label = i % c.width == c.labels[i / c.width];
    dx[i] = (math::exp(log_p[i]) - even) * scale - (is_label ? own * scale : T(0));
  }
}

template <class T, bool Log>
__global__ void target_loss_kernel(TargetLossCall c) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * c.width;
  const T* const log_p = static_cast<const T*>(c.log_p) + first;
  const T* const target = static_cast<const T*>(c.target) + first;
  double sum = 0;
  for (std::int64_t k = threadIdx.x; k < c.width; k += kRowBlock) {
    const T t = Log ? math::exp(target[k]) : target[k];
    if (t == T(0)) continue;
    sum += static_cast<double>(Log ? t * (target[k] - log_p[k]) : -(t * log_p[k]));
  }
  sum = block_reduce(sum, SumOf{});
  if (threadIdx.x == 0) c.parts[blockIdx.x] = sum;
}

template <class T, bool Log>
__global__ void target_loss_grad_kernel(TargetLossCall c) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * c.width;
  const T* const log_p = static_cast<const T*>(c.log_p) + first;
  const T* const target = static_cast<const T*>(c.target) + first;
  T* const dx = static_cast<T*>(c.dx) + first;
  const T scale = static_cast<T>(value_of<T>(c.dy) * c.factor / c.divisor);
  const auto probability = [](T t) { return Log ? math::exp(t) : t; };
  T mass = 0;
  for (std::int64_t k = threadIdx.x; k < c.width; k += kRowBlock) mass += probability(target[k]);
  mass = block_reduce(mass, SumOf{});
  for (std::int64_t k = threadIdx.x; k < c.width; k += kRowBlock) {
    dx[k] = (math::exp(log_p[k]) * mass - probability(target[k])) * scale;
  }
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
    launch(current_stream(), label_loss_kernel<T>, static_cast<unsigned>(c.rows), kRowBlock,
           kRowShared, c);
    add_parts<T>(c.loss, c.parts, c.rows, 1 / static_cast<double>(c.rows));
  });
}

inline void label_loss_grad(const LabelLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    launch(current_stream(), label_loss_grad_kernel<decltype(tag)>,
           blocks_for(c.rows * c.width, kRowBlock), kRowBlock, 0, c);
  });
}

inline void target_loss(const TargetLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel = c.log_target ? target_loss_kernel<T, true> : target_loss_kernel<T, false>;
    launch(current_stream(), kernel, static_cast<unsigned>(c.rows), kRowBlock, kRowShared, c);
    add_parts<T>(c.loss, c.parts, c.rows, c.factor / c.divisor);
  });
}

inline void target_loss_grad(const TargetLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel =
        c.log_target ? target_loss_grad_kernel<T, true> : target_loss_grad_kernel<T, false>;
    launch(current_stream(), kernel, static_cast<unsigned>(c.rows), kRowBlock, kRowShared, c);
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
           kRowBlock, kRowShared, c);
    add_parts<T>(c.loss, c.parts, runs, 1 / static_cast<double>(c.n));
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
