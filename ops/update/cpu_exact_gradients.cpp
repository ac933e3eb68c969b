// Sums of squares over fixed blocks, and gradient clipping.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/math.h"
#include "ops/update/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

namespace math = fovea::ops::detail::math;

/// Eight partial sums, so that the loop vectorises without reordering.
template <class T>
double sum_of_squares(const T* values, std::int64_t count) {
  constexpr std::int64_t kSums = 8;
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) {
      const auto value = static_cast<double>(values[i + k]);
      sums[k] += value * value;
    }
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

/// One unit's gradient g and weights p, [length] each.
template <class T>
void clip_unit(const ClipUnitsCall& c, T* g, const T* p) {
  const double weights = math::sqrt(sum_of_squares(p, c.length));
  const double limit = c.factor * math::max(weights, ClipUnitsCall::kSmallestWeights);
  const double norm = c.scale * math::sqrt(sum_of_squares(g, c.length));
  if (norm < limit) return;
  const T shrink = static_cast<T>(limit / math::max(norm, ClipUnitsCall::kSmallestGradient));
  for (std::int64_t i = 0; i < c.length; ++i) g[i] *= shrink;
}

}  // namespace

namespace update {

void squares(const Calls<SquaresCall>& calls) {
  for (const SquaresCall& c : calls) {
    dispatch_float(c.dtype, [&](auto zero) {
      const auto* const x = static_cast<const decltype(zero)*>(c.x);
      parallel_for(c.count, kUpdateBlock, [&](std::int64_t begin, std::int64_t end) {
        c.sums[begin / kUpdateBlock] = sum_of_squares(x + begin, end - begin);
      });
    });
  }
}

void clip_values(const ClipValuesCall& c) {
  dispatch_wide(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(c.count, kUpdateBlock, [&](std::int64_t begin, std::int64_t end) {
      T* const g = static_cast<T*>(c.g);
      const T bound = static_cast<T>(c.limit);
      for (std::int64_t i = begin; i < end; ++i) {
        g[i] = g[i] < -bound ? -bound : (g[i] > bound ? bound : g[i]);  // NaN stays NaN
      }
    });
  });
}

void clip_units(const ClipUnitsCall& c) {
  dispatch_wide(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const g = static_cast<T*>(c.g);
    const T* const p = static_cast<const T*>(c.p);
    parallel_for(c.units, grain(kMinElements, c.length), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        clip_unit(c, g + unit * c.length, p + unit * c.length);
      }
    });
  });
}

}  // namespace update
}  // namespace fovea::ops::cpu::FOVEA_ISA
