// Column sums of a matrix, such as the gradient of a bias.
#include "engine/parallel.h"
#include "ops/gemm/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kColumns = 64;  // columns that one thread sums in registers
constexpr std::int64_t kRows = 256;    // rows per partial sum, for accuracy

/// Sums up to kColumns columns of x; `width` is kColumns where it can be a compile-time constant.
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
void column_sums_of(const ColumnSumsCall& c) {
  auto* const sums = static_cast<acc_t<T>*>(c.sums);
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

}  // namespace

void gemm::column_sums(const ColumnSumsCall& c) {
  dispatch_float(c.dtype, [&](auto tag) { column_sums_of<decltype(tag)>(c); });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
