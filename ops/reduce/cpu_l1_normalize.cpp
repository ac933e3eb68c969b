// L1 normalisation of rows: division by the sum of magnitudes, in f64.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/math.h"
#include "ops/reduce/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA::reduce {
namespace {

namespace math = fovea::ops::detail::math;

/// sum |x|.
template <class T>
double absolute_sum(const T* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += math::abs(static_cast<double>(x[i]));
  return sum;
}

/// y = x / max(sum |x|, eps).
template <class T>
void normalize_row(const L1NormalizeCall& c, std::int64_t first) {
  const T* const x = static_cast<const T*>(c.x) + first;
  T* const y = static_cast<T*>(c.y) + first;
  const double sum = absolute_sum(x, c.width), scale = 1 / (sum < c.eps ? c.eps : sum);
  for (std::int64_t j = 0; j < c.width; ++j) {
    y[j] = static_cast<T>(static_cast<double>(x[j]) * scale);
  }
}

/// With s = sum |x| and y = x / s:  dx = (dy - sign(x) sum dy y) / s;  where s < eps, dx = dy /
/// eps.
template <class T>
void differentiate_row(const L1NormalizeCall& c, std::int64_t first) {
  const T *const x = static_cast<const T*>(c.x) + first, *const dy =
                                                             static_cast<const T*>(c.dy) + first;
  T* const dx = static_cast<T*>(c.dx) + first;
  const double sum = absolute_sum(x, c.width), divisor = sum < c.eps ? c.eps : sum;
  double dot = 0;  // sum dy y
  for (std::int64_t j = 0; j < c.width && sum >= c.eps; ++j) {
    dot += static_cast<double>(dy[j]) * static_cast<double>(x[j]) / sum;
  }
  for (std::int64_t j = 0; j < c.width; ++j) {
    const double value = static_cast<double>(x[j]);
    const double sign = static_cast<double>((value > 0) - (value < 0));
    dx[j] = static_cast<T>((static_cast<double>(dy[j]) - sign * dot) / divisor);
  }
}

/// Calls of_row(offset of the row) for every row.
template <class OfRow>
void for_rows(const L1NormalizeCall& c, const OfRow& of_row) {
  parallel_for(c.rows, grain(kMinElements, c.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) of_row(i * c.width);
  });
}

}  // namespace

void l1_normalize(const L1NormalizeCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    for_rows(c, [&](std::int64_t first) { normalize_row<decltype(tag)>(c, first); });
  });
}

void l1_normalize_grad(const L1NormalizeCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    for_rows(c, [&](std::int64_t first) { differentiate_row<decltype(tag)>(c, first); });
  });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::reduce
