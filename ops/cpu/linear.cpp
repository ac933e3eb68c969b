// Column sums and the derivative of GELU, compiled once per instruction set.
#include "ops/cpu/linear.h"

#include "engine/parallel.h"
#include "ops/detail/math.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

namespace math = detail::math;

constexpr std::int64_t kColumns = 64;  // summed by one thread, in registers
constexpr std::int64_t kRows = 256;    // added up before joining the total, for accuracy
constexpr std::int64_t kElements = 1 << 14;

/// Adds up to kColumns columns from x on; `width` is kColumns where it can be a constant.
template <class T>
inline void sum_block(const ColumnSumsCall& c, const T* x, acc_t<T>* total, std::int64_t width) {
  for (std::int64_t row = 0; row < c.rows; row += kRows) {
    acc_t<T> part[kColumns] = {};
    const std::int64_t end = row + kRows < c.rows ? row + kRows : c.rows;
    for (std::int64_t i = row; i < end; ++i) {
      const T* line = x + i * c.cols;
      for (std::int64_t j = 0; j < width; ++j) part[j] += static_cast<acc_t<T>>(line[j]);
    }
    for (std::int64_t j = 0; j < width; ++j) total[j] += part[j];
  }
}

template <class T>
void column_sums_of(const ColumnSumsCall& c, acc_t<T>* sums) {
  for (std::int64_t j = 0; j < c.cols; ++j) sums[j] = 0;
  parallel_for(c.cols, kColumns, [&](std::int64_t begin, std::int64_t end) {
    const T* x = static_cast<const T*>(c.x) + begin;
    if (end - begin == kColumns) {
      sum_block(c, x, sums + begin, kColumns);
    } else {
      sum_block(c, x, sums + begin, end - begin);
    }
  });
}

/// gelu'(z) = Phi(z) + z phi(z).
template <class T>
void gelu_backward_of(const GeluBackwardCall& c) {
  const auto* z = static_cast<const T*>(c.z);
  const auto* dy = static_cast<const T*>(c.dy);
  auto* dz = static_cast<T*>(c.dz);
  parallel_for(c.count, kElements, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto x = static_cast<acc_t<T>>(z[i]);
      const auto slope = math::normal_cdf(x) + x * math::normal_pdf(x);
      dz[i] = static_cast<T>(static_cast<acc_t<T>>(dy[i]) * slope);
    }
  });
}

void column_sums(const ColumnSumsCall& c, void* sums) {
  switch (c.dtype) {
    case DType::f64:
      return column_sums_of<double>(c, static_cast<double*>(sums));
    case DType::f32:
      return column_sums_of<float>(c, static_cast<float*>(sums));
    default:
      return column_sums_of<bf16>(c, static_cast<float*>(sums));
  }
}

void gelu_backward(const GeluBackwardCall& c) {
  switch (c.dtype) {
    case DType::f64:
      return gelu_backward_of<double>(c);
    case DType::f32:
      return gelu_backward_of<float>(c);
    default:
      return gelu_backward_of<bf16>(c);
  }
}

}  // namespace

extern const LinearKernels linear_kernels{column_sums, gelu_backward};

}  // namespace fovea::ops::cpu::FOVEA_ISA
