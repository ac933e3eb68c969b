// Softmax and log-softmax of rows, and their derivatives from the output. A sum goes over one row.
#include "engine/parallel.h"
#include "ops/common/cpu/lanes.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/math.h"
#include "ops/softmax/call.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

namespace math = fovea::ops::detail::math;

/// One row, and scratch memory of its width.
template <class T>
struct SoftmaxRow {
  const T* x;
  T* y;
  std::int64_t width;
  acc_t<T>* e;
};
template <class T>
struct GradRow {
  const T *y, *dy;
  T* dx;
  std::int64_t width;
  acc_t<T>* p;
};

/// e_i = exp(x_i - max), and sum = e_1 + e_2 + ... Subtracting the maximum changes no softmax and
/// keeps exp from overflowing. The loop over exp is simple, so that the compiler vectorises it.
template <class T>
struct Exponentials {
  using A = acc_t<T>;
  A max, sum;

  explicit Exponentials(const SoftmaxRow<T>& r) {
    LaneMax<A> largest(-__builtin_inf());
    for_lanes<A>(r.width, [&](auto at, std::int64_t i) { largest.add(at, at.load(r.x + i)); });
    max = largest.total();
    for (std::int64_t i = 0; i < r.width; ++i) {
      r.e[i] = math::exp(OneLane<A>::load(r.x + i) - max);
    }
    LaneSum<A> total;
    for_lanes<A>(r.width, [&](auto at, std::int64_t i) { total.add(at, at.load(r.e + i)); });
    sum = total.total();
  }
};

/// y_i = exp(x_i) / sum_j exp(x_j) = e_i / sum.
template <class T>
[[gnu::flatten]] void softmax(const SoftmaxRow<T>& r) {
  using A = acc_t<T>;
  const A scale = A(1) / Exponentials<T>(r).sum;
  for_lanes<A>(r.width,
               [&](auto at, std::int64_t i) { at.store(r.y + i, at.load(r.e + i) * scale); });
}

/// y_i = log softmax(x)_i = (x_i - max) - log sum.
template <class T>
[[gnu::flatten]] void log_softmax(const SoftmaxRow<T>& r) {
  using A = acc_t<T>;
  const Exponentials<T> e(r);
  const A log_sum = math::log(e.sum);
  for_lanes<A>(r.width, [&](auto at, std::int64_t i) {
    at.store(r.y + i, (at.load(r.x + i) - e.max) - log_sum);
  });
}

/// dy_j/dx_i = y_j ([i = j] - y_i), therefore dx_i = y_i (dy_i - sum_j dy_j y_j).
template <class T>
[[gnu::flatten]] void softmax_grad(const GradRow<T>& r) {
  using A = acc_t<T>;
  LaneSum<A> sum;
  for_lanes<A>(r.width,
               [&](auto at, std::int64_t i) { sum.add(at, at.load(r.dy + i) * at.load(r.y + i)); });
  const A dot = sum.total();
  for_lanes<A>(r.width, [&](auto at, std::int64_t i) {
    at.store(r.dx + i, at.load(r.y + i) * (at.load(r.dy + i) - dot));
  });
}

/// dy_j/dx_i = [i = j] - softmax(x)_i, therefore dx_i = dy_i - exp(y_i) sum_j dy_j.
template <class T>
[[gnu::flatten]] void log_softmax_grad(const GradRow<T>& r) {
  using A = acc_t<T>;
  for (std::int64_t i = 0; i < r.width; ++i) r.p[i] = math::exp(OneLane<A>::load(r.y + i));
  LaneSum<A> sum;
  for_lanes<A>(r.width, [&](auto at, std::int64_t i) { sum.add(at, at.load(r.dy + i)); });
  const A total = sum.total();
  for_lanes<A>(r.width, [&](auto at, std::int64_t i) {
    at.store(r.dx + i, at.load(r.dy + i) - at.load(r.p + i) * total);
  });
}

/// Calls of_row(offset of the row, scratch memory) for every row.
template <class A, class Call, class OfRow>
void for_rows(const Call& c, const OfRow& of_row) {
  parallel_for(c.rows, grain(kMinElements, c.width), [&](std::int64_t begin, std::int64_t end) {
    auto* const memory = row_scratch<A>(c.width);
    for (std::int64_t i = begin; i < end; ++i) of_row(i * c.width, memory);
  });
}

void forward(const SoftmaxCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto* const x = static_cast<const T*>(c.x);
    auto* const y = static_cast<T*>(c.y);
    for_rows<acc_t<T>>(c, [&](std::int64_t at, acc_t<T>* e) {
      const SoftmaxRow<T> row{x + at, y + at, c.width, e};
      c.log ? log_softmax(row) : softmax(row);
    });
  });
}

void backward(const SoftmaxGradCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto *const y = static_cast<const T*>(c.y), *const dy = static_cast<const T*>(c.dy);
    auto* const dx = static_cast<T*>(c.dx);
    for_rows<acc_t<T>>(c, [&](std::int64_t at, acc_t<T>* p) {
      const GradRow<T> row{y + at, dy + at, dx + at, c.width, p};
      c.log ? log_softmax_grad(row) : softmax_grad(row);
    });
  });
}

}  // namespace

extern const SoftmaxKernels softmax_kernels{forward, backward};

}  // namespace fovea::ops::cpu::FOVEA_ISA
