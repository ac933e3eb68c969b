// Softmax and log-softmax of rows, and their derivatives from the saved output.
#include "ops/cpu/softmax.h"

#include "ops/cpu/lanes.h"
#include "ops/detail/math.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

namespace math = fovea::ops::detail::math;

/// e = exp(x - max), and its sum. The loop over exp is plain, so that the compiler vectorises it.
template <class T>
struct Exponentials {
  using A = acc_t<T>;
  A max, sum;

  Exponentials(const T* x, std::int64_t n, A* e) {
    LaneMax<A> largest(-__builtin_inf());
    for_lanes<A>(n, [&](auto at, std::int64_t i) { largest.add(at, at.load(x + i)); });
    max = largest.total();
    for (std::int64_t i = 0; i < n; ++i) e[i] = math::exp(OneLane<A>::load(x + i) - max);
    LaneSum<A> total;
    for_lanes<A>(n, [&](auto at, std::int64_t i) { total.add(at, at.load(e + i)); });
    sum = total.total();
  }
};

/// y = exp(x - max) / sum.
template <class T>
[[gnu::flatten]] void softmax(const SoftmaxCall<T>& c) {
  using A = acc_t<T>;
  A* const e = c.scratch;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    T* const y = c.y + row * c.width;
    const A scale = A(1) / Exponentials<T>(c.x + row * c.width, c.width, e).sum;
    for_lanes<A>(c.width,
                 [&](auto at, std::int64_t i) { at.store(y + i, at.load(e + i) * scale); });
  }
}

/// y = (x - max) - log sum.
template <class T>
[[gnu::flatten]] void log_softmax(const SoftmaxCall<T>& c) {
  using A = acc_t<T>;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const T* const x = c.x + row * c.width;
    T* const y = c.y + row * c.width;
    const Exponentials<T> e(x, c.width, c.scratch);
    const A log_sum = math::log(e.sum);
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      at.store(y + i, (at.load(x + i) - e.max) - log_sum);
    });
  }
}

/// dx = y (dy - sum dy y).
template <class T>
[[gnu::flatten]] void softmax_grad(const SoftmaxGradCall<T>& c) {
  using A = acc_t<T>;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const T* const y = c.y + row * c.width;
    const T* const dy = c.dy + row * c.width;
    T* const dx = c.dx + row * c.width;
    LaneSum<A> sum;
    for_lanes<A>(c.width,
                 [&](auto at, std::int64_t i) { sum.add(at, at.load(dy + i) * at.load(y + i)); });
    const A dot = sum.total();
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      at.store(dx + i, at.load(y + i) * (at.load(dy + i) - dot));
    });
  }
}

/// dx = dy - exp(y) sum dy.
template <class T>
[[gnu::flatten]] void log_softmax_grad(const SoftmaxGradCall<T>& c) {
  using A = acc_t<T>;
  A* const p = c.scratch;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const T* const y = c.y + row * c.width;
    const T* const dy = c.dy + row * c.width;
    T* const dx = c.dx + row * c.width;
    for (std::int64_t i = 0; i < c.width; ++i) p[i] = math::exp(OneLane<A>::load(y + i));
    LaneSum<A> sum;
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) { sum.add(at, at.load(dy + i)); });
    const A total = sum.total();
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      at.store(dx + i, at.load(dy + i) - at.load(p + i) * total);
    });
  }
}

template <class T>
constexpr SoftmaxFunctions<T> kFunctions{softmax<T>, log_softmax<T>, softmax_grad<T>,
                                         log_softmax_grad<T>};

}  // namespace

extern const SoftmaxKernels softmax_kernels{kFunctions<double>, kFunctions<float>,
                                            kFunctions<bf16>};

}  // namespace fovea::ops::cpu::FOVEA_ISA
