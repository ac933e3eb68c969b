// Cross-entropy and KL divergence of rows with target distributions.
#include "ops/common/math.h"
#include "ops/loss/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA::loss {
namespace {

namespace math = fovea::ops::detail::math;

/// sum_k -t log p.
template <class T>
double cross_entropy(const T* log_p, const T* t, std::int64_t width) {
  double sum = 0;
  for (std::int64_t k = 0; k < width; ++k) {
    sum -= t[k] == T(0) ? 0.0 : static_cast<double>(t[k] * log_p[k]);
  }
  return sum;
}

/// sum_k t (log t - log p).
template <class T>
double divergence(const T* log_p, const T* log_t, std::int64_t width) {
  double sum = 0;
  for (std::int64_t k = 0; k < width; ++k) {
    const T t = math::exp(log_t[k]);
    sum += t == T(0) ? 0.0 : static_cast<double>(t * (log_t[k] - log_p[k]));
  }
  return sum;
}

template <bool kLog, class T>
T probability(T target) {
  return kLog ? math::exp(target) : target;
}

/// Writes scale (p sum t - t) for a row.
template <bool kLogTarget, class T>
void differentiate_row(const TargetLossCall& c, std::int64_t i, T scale) {
  const std::int64_t first = i * c.width;
  const T *const log_p = static_cast<const T*>(c.log_p) + first, *const target =
                                                                     static_cast<const T*>(
                                                                         c.target) +
                                                                     first;
  T* const out = static_cast<T*>(c.dx) + first;
  T mass = 0;
  for (std::int64_t k = 0; k < c.width; ++k) mass += probability<kLogTarget>(target[k]);
  for (std::int64_t k = 0; k < c.width; ++k) {
    out[k] = (math::exp(log_p[k]) * mass - probability<kLogTarget>(target[k])) * scale;
  }
}

}  // namespace

void target_loss(const TargetLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto of_row = c.log_target ? divergence<T> : cross_entropy<T>;
    const auto *const log_p = static_cast<const T*>(c.log_p), *const target =
                                                                  static_cast<const T*>(c.target);
    for_rows(c, [&](std::int64_t i) {
      c.parts[i] = of_row(log_p + i * c.width, target + i * c.width, c.width);
    });
    set_value<T>(c.loss, c.factor * sum_of(c.parts, c.rows) / c.divisor);
  });
}

void target_loss_grad(const TargetLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto of_row = c.log_target ? differentiate_row<true, T> : differentiate_row<false, T>;
    const double scale = value_of<T>(c.dy) * c.factor / c.divisor;
    for_rows(c, [&](std::int64_t i) { of_row(c, i, static_cast<T>(scale)); });
  });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::loss
