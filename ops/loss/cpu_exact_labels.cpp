// Cross-entropy with integer labels.
#include "ops/common/math.h"
#include "ops/loss/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA::loss {
namespace {

namespace math = fovea::ops::detail::math;

/// -(1 - s) log p_label - s mean_k log p_k.
template <class T>
double row_loss(const LabelLossCall& c, std::int64_t i) {
  const T* const row = static_cast<const T*>(c.log_p) + i * c.width;
  const double loss = -(1 - c.smoothing) * static_cast<double>(row[c.labels[i]]);
  if (c.smoothing == 0) return loss;
  double sum = 0;
  for (std::int64_t k = 0; k < c.width; ++k) sum += static_cast<double>(row[k]);
  return loss - c.smoothing / static_cast<double>(c.width) * sum;
}

/// scale (p - t).
template <class T>
void differentiate_row(const LabelLossCall& c, std::int64_t i, T scale) {
  const T* const row = static_cast<const T*>(c.log_p) + i * c.width;
  T* const out = static_cast<T*>(c.dx) + i * c.width;
  const T even = static_cast<T>(c.smoothing / static_cast<double>(c.width));
  for (std::int64_t k = 0; k < c.width; ++k) out[k] = (math::exp(row[k]) - even) * scale;
  out[c.labels[i]] -= static_cast<T>(1 - c.smoothing) * scale;
}

}  // namespace

void label_loss(const LabelLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_rows(c, [&](std::int64_t i) { c.parts[i] = row_loss<T>(c, i); });
    set_value<T>(c.loss, sum_of(c.parts, c.rows) / static_cast<double>(c.rows));
  });
}

void label_loss_grad(const LabelLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const double scale = value_of<T>(c.dy) / static_cast<double>(c.rows);
    for_rows(c, [&](std::int64_t i) { differentiate_row(c, i, static_cast<T>(scale)); });
  });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::loss
