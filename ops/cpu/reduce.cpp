// Sums along a contiguous run, and down the columns of a matrix.
#include "ops/cpu/reduce.h"

#include "ops/cpu/lanes.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

template <class T>
[[gnu::flatten]] acc_t<T> sum(const T* x, std::int64_t n) {
  using A = acc_t<T>;
  LaneSum<A> total;
  for_lanes<A>(n, [&](auto at, std::int64_t i) { total.add(at, at.load(x + i)); });
  return total.total();
}

/// Four rows at a time, so that each sum is loaded and stored a quarter as often.
template <class T>
[[gnu::flatten]] void column_sums(const ColumnSumCall<T>& c) {
  using A = acc_t<T>;
  A* const sums = c.sums;
  for (std::int64_t j = 0; j < c.width; ++j) sums[j] = 0;
  std::int64_t row = 0;
  for (; row + 4 <= c.rows; row += 4) {
    const T* const x0 = c.x + row * c.stride;
    const T *const x1 = x0 + c.stride, *const x2 = x1 + c.stride, *const x3 = x2 + c.stride;
    for_lanes<A>(c.width, [&](auto at, std::int64_t j) {
      const auto four = (at.load(x0 + j) + at.load(x1 + j)) + (at.load(x2 + j) + at.load(x3 + j));
      at.store(sums + j, at.load(sums + j) + four);
    });
  }
  for (; row < c.rows; ++row) {
    const T* const x = c.x + row * c.stride;
    for_lanes<A>(c.width, [&](auto at, std::int64_t j) {
      at.store(sums + j, at.load(sums + j) + at.load(x + j));
    });
  }
}

template <class T>
constexpr ReduceFunctions<T> kFunctions{sum<T>, column_sums<T>};

}  // namespace

extern const ReduceKernels reduce_kernels{kFunctions<double>, kFunctions<float>, kFunctions<bf16>};

}  // namespace fovea::ops::cpu::FOVEA_ISA
