// Sums along contiguous runs, and down the columns of a matrix.
#include "engine/parallel.h"
#include "ops/common/cpu/lanes.h"
#include "ops/common/cpu/sizes.h"
#include "ops/reduce/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

template <class T>
[[gnu::flatten]] acc_t<T> sum(const T* x, std::int64_t n) {
  using A = acc_t<T>;
  LaneSum<A> total;
  for_lanes<A>(n, [&](auto at, std::int64_t i) { total.add(at, at.load(x + i)); });
  return total.total();
}

/// [rows, width] with `stride` elements between rows.
template <class T>
struct Columns {
  const T* x;
  std::int64_t rows, width, stride;
  acc_t<T>* sums;  // [width], overwritten
};

/// Processes four rows at a time, so that each sum is loaded and stored a quarter as often.
template <class T>
[[gnu::flatten]] void column_sums(const Columns<T>& c) {
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

constexpr std::int64_t kStrip = 1 << 10;  // columns per strip, whose sums stay in the L1 cache

/// Sums the columns [first, first + kStrip) of one run.
template <class T>
void sum_strip(const PartialSumsCall& c, std::int64_t index, std::int64_t first) {
  const std::int64_t start = index % c.runs * c.run, rows = smaller(c.run, c.n - start);
  const T* const at = static_cast<const T*>(c.x) + (index / c.runs * c.n + start) * c.inner + first;
  auto* const to = static_cast<acc_t<T>*>(c.sums) + index * c.inner + first;
  if (c.inner == 1) {
    *to = sum(at, rows);
  } else {
    column_sums<T>({at, rows, smaller(kStrip, c.inner - first), c.inner, to});
  }
}

void partial_sums(const PartialSumsCall& c) {
  const std::int64_t strips = ceil_div(c.inner, kStrip);
  const std::int64_t work = smaller(c.run, c.n) * smaller(c.inner, kStrip);
  dispatch_float(c.dtype, [&](auto tag) {
    parallel_for(c.outer * c.runs * strips, kMinElements / larger(1, work) + 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t task = begin; task < end; ++task) {
                     sum_strip<decltype(tag)>(c, task / strips, task % strips * kStrip);
                   }
                 });
  });
}

}  // namespace

extern const ReduceKernels reduce_kernels{partial_sums, reduce::l1_normalize,
                                          reduce::l1_normalize_grad, SumRuns{1 << 14, 1 << 8}};

}  // namespace fovea::ops::cpu::FOVEA_ISA
