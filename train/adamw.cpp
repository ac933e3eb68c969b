// AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as torch.optim.AdamW.
//
//   p <- p (1 - lr wd)
//   m <- b1 m + (1 - b1) g            first moment
//   v <- b2 v + (1 - b2) g^2          second moment
//   p <- p - lr / (1 - b1^t)  *  m / (sqrt(v) / sqrt(1 - b2^t) + eps)
//
// One pass over memory per parameter: four reads, three writes. Built with -fno-math-errno so that
// sqrt vectorises.
#include <cmath>

#include "engine/parallel.h"
#include "train/optimizer.h"

namespace fovea::detail {
namespace {

/// The numbers of one step, rounded once to the parameter's type.
template <class T>
struct Constants {
  T keep, gradient_scale, b1, c1, b2, c2, step_size, inverse_root, eps;

  Constants(const Update& u, const OptimizerOptions& o)
      : keep(static_cast<T>(1 - u.lr * u.weight_decay)),
        gradient_scale(static_cast<T>(u.gradient_scale)),
        b1(static_cast<T>(o.beta1)),
        c1(static_cast<T>(1 - o.beta1)),
        b2(static_cast<T>(o.beta2)),
        c2(static_cast<T>(1 - o.beta2)),
        eps(static_cast<T>(o.eps)) {
    const auto t = static_cast<double>(u.step);
    step_size = static_cast<T>(u.lr / (1 - std::pow(o.beta1, t)));
    inverse_root = static_cast<T>(1 / std::sqrt(1 - std::pow(o.beta2, t)));
  }
};

template <class T>
void update_range(const Update& u, const Constants<T>& c, std::int64_t begin, std::int64_t end) {
  T* __restrict p = u.parameter.data<T>();
  T* __restrict m = u.m.data<T>();
  T* __restrict v = u.v.data<T>();
  const T* __restrict gradient = u.gradient.data<T>();
  const Constants<T> k = c;  // a copy that no store through p can change
  for (std::int64_t i = begin; i < end; ++i) {
    const T g = gradient[i] * k.gradient_scale;
    const T mi = k.b1 * m[i] + k.c1 * g;
    const T vi = k.b2 * v[i] + k.c2 * g * g;
    m[i] = mi;
    v[i] = vi;
    p[i] = p[i] * k.keep - k.step_size * mi / (std::sqrt(vi) * k.inverse_root + k.eps);
  }
}

}  // namespace

void adamw_update(const Update& update, const OptimizerOptions& options) {
  by_type(update, [&](auto zero) {
    const Constants<decltype(zero)> constants(update, options);
    parallel_for(update.parameter.numel(), kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
      update_range(update, constants, begin, end);
    });
  });
}

}  // namespace fovea::detail
