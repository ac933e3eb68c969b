// Lion: the sign of an interpolated momentum (Chen et al., "Symbolic Discovery of Optimization
// Algorithms", 2023, algorithm 2), as timm's Lion.
//
//   p <- p (1 - lr wd)
//   p <- p - lr sign(b1 m + (1 - b1) g)
//   m <- b2 m + (1 - b2) g
//
// Every element moves by lr, so rates are 3 to 10 times smaller than AdamW's, and decays as much
// larger.
#include "engine/parallel.h"
#include "train/optimizer.h"

namespace fovea::detail {
namespace {

template <class T>
T sign(T x) {
  return static_cast<T>((x > 0) - (x < 0));
}

template <class T>
void run(const Update& u, const OptimizerOptions& o) {
  T* const p = u.parameter.data<T>();
  T* const m = u.m.data<T>();
  const T* const gradient = u.gradient.data<T>();
  const T scale = static_cast<T>(u.gradient_scale), lr = static_cast<T>(u.lr);
  const T keep = static_cast<T>(1 - u.lr * u.weight_decay);
  const T b1 = static_cast<T>(o.beta1), c1 = static_cast<T>(1 - o.beta1);
  const T b2 = static_cast<T>(o.beta2), c2 = static_cast<T>(1 - o.beta2);
  parallel_for(u.parameter.numel(), kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T g = gradient[i] * scale;
      p[i] = p[i] * keep - lr * sign(b1 * m[i] + c1 * g);
      m[i] = b2 * m[i] + c2 * g;
    }
  });
}

}  // namespace

void lion_update(const Update& update, const OptimizerOptions& options) {
  by_type(update, [&](auto zero) { run<decltype(zero)>(update, options); });
}

}  // namespace fovea::detail
