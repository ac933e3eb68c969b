// Stochastic gradient descent with momentum, as torch.optim.SGD: the decay is part of the gradient.
//
//   g <- g + wd p
//   m <- g at the first step, then momentum m + g
//   p <- p - lr m                     or, with Nesterov,  p - lr (g + momentum m)
#include "engine/parallel.h"
#include "train/optimizer.h"

namespace fovea::detail {
namespace {

template <class T>
void run(const Update& update, const OptimizerOptions& options) {
  T* const p = update.parameter.data<T>();
  T* const m = update.m.data<T>();
  const T* const gradient = update.gradient.data<T>();
  const T lr = static_cast<T>(update.lr), decay = static_cast<T>(update.weight_decay);
  const T scale = static_cast<T>(update.gradient_scale);
  const T momentum = static_cast<T>(options.momentum);
  // p moves along g_part g + m_part m.
  const T g_part = options.nesterov ? T(1) : T(0), m_part = options.nesterov ? momentum : T(1);

  parallel_for(update.parameter.numel(), kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T g = gradient[i] * scale + decay * p[i];
      m[i] = momentum * m[i] + g;  // m is 0 before the first step, so there m = g
      p[i] -= lr * (g_part * g + m_part * m[i]);
    }
  });
}

}  // namespace

void sgd_update(const Update& update, const OptimizerOptions& options) {
  by_type(update, [&](auto zero) { run<decltype(zero)>(update, options); });
}

}  // namespace fovea::detail
