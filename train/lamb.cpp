// LAMB: Adam's direction, its length set for each tensor by the tensor's own (You et al., "Large
// Batch Optimization for Deep Learning: Training BERT in 76 minutes", 2020), as timm's Lamb.
//
//   m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2     g clipped: all gradients' norm is <= 1
//   u = m / (1 - b1^t) / (sqrt(v) / sqrt(1 - b2^t) + eps) + wd p
//   p <- p - lr r u,  r = |p| / |u|                        r = 1 where wd = 0 or a norm is 0
//
// Sums of squares are taken over fixed blocks, so that they do not depend on the threads.
#include <cmath>
#include <vector>

#include "engine/parallel.h"
#include "train/optimizer.h"

namespace fovea::detail {
namespace {

struct Squares {
  double parameter = 0, direction = 0;
};

/// Updates the moments and writes u of elements [begin, end).
template <class T>
Squares directions(const Update& u, const OptimizerOptions& o, T* __restrict direction,
                   std::int64_t begin, std::int64_t end) {
  const T* __restrict p = u.parameter.data<T>();
  const T* __restrict gradient = u.gradient.data<T>();
  T* __restrict m = u.m.data<T>();
  T* __restrict v = u.v.data<T>();
  const auto t = static_cast<double>(u.step);
  const T scale = static_cast<T>(u.gradient_scale), decay = static_cast<T>(u.weight_decay);
  const T b1 = static_cast<T>(o.beta1), c1 = static_cast<T>(1 - o.beta1);
  const T b2 = static_cast<T>(o.beta2), c2 = static_cast<T>(1 - o.beta2);
  const T unbias1 = static_cast<T>(1 / (1 - std::pow(o.beta1, t)));
  const T unbias2 = static_cast<T>(1 / std::sqrt(1 - std::pow(o.beta2, t)));
  const T eps = static_cast<T>(o.eps);
  Squares sum;
  for (std::int64_t i = begin; i < end; ++i) {
    const T g = gradient[i] * scale;
    m[i] = b1 * m[i] + c1 * g;
    v[i] = b2 * v[i] + c2 * g * g;
    const T step = m[i] * unbias1 / (std::sqrt(v[i]) * unbias2 + eps) + decay * p[i];
    direction[i] = step;
    sum.parameter += static_cast<double>(p[i]) * static_cast<double>(p[i]);
    sum.direction += static_cast<double>(step) * static_cast<double>(step);
  }
  return sum;
}

double trust_ratio(const Update& u, const std::vector<Squares>& parts) {
  Squares sum;
  for (const Squares& part : parts) {
    sum.parameter += part.parameter;
    sum.direction += part.direction;
  }
  const bool adapts = u.weight_decay != 0 && sum.parameter > 0 && sum.direction > 0;
  return adapts ? std::sqrt(sum.parameter / sum.direction) : 1;
}

template <class T>
void run(const Update& u, const OptimizerOptions& o) {
  const std::int64_t n = u.parameter.numel();
  const Tensor scratch = empty(u.parameter.shape(), u.parameter.options());
  T* const direction = scratch.data<T>();
  std::vector<Squares> parts(static_cast<std::size_t>((n + kUpdateGrain - 1) / kUpdateGrain));
  parallel_for(n, kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / kUpdateGrain)] = directions(u, o, direction, begin, end);
  });
  T* const p = u.parameter.data<T>();
  const T rate = static_cast<T>(u.lr * trust_ratio(u, parts));
  parallel_for(n, kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) p[i] -= rate * direction[i];
  });
}

}  // namespace

void lamb_update(const Update& update, const OptimizerOptions& options) {
  by_type(update, [&](auto zero) { run<decltype(zero)>(update, options); });
}

}  // namespace fovea::detail
