// Applies a sparse matrix along one axis.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/resize/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kTaps = 4;  // typical taps per row; antialiasing uses more

template <class T>
void apply_row(const ResizeCall& c, std::int64_t outer, std::int64_t row) {
  const T* const x = static_cast<const T*>(c.x) + outer * c.columns * c.inner;
  T* const to = static_cast<T*>(c.y) + (outer * c.rows + row) * c.inner;
  for (std::int64_t j = 0; j < c.inner; ++j) to[j] = 0;
  for (std::int64_t k = c.begin[row]; k < c.begin[row + 1]; ++k) {
    const T weight = static_cast<T>(c.weight[k]);
    const T* const source = x + c.index[k] * c.inner;
    for (std::int64_t j = 0; j < c.inner; ++j) to[j] += weight * source[j];
  }
}

void apply(const ResizeCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    parallel_for(c.outer * c.rows, grain(kMinElements, kTaps * c.inner),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t at = begin; at < end; ++at) {
                     apply_row<decltype(tag)>(c, at / c.rows, at % c.rows);
                   }
                 });
  });
}

}  // namespace

extern const ResizeKernels resize_kernels{apply, resize::repeat, resize::square_sums};

}  // namespace fovea::ops::cpu::FOVEA_ISA
