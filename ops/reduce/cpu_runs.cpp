// Sums and maxima along contiguous runs, and down the columns of a matrix.
#include <limits>

#include "engine/parallel.h"
#include "ops/common/cpu/lanes.h"
#include "ops/common/cpu/sizes.h"
#include "ops/reduce/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

/// [rows, width] with `stride` elements between rows.
template <class T>
struct Columns {
  const T* x;
  std::int64_t rows, width, stride;
  acc_t<T>* results;  // [width], overwritten
};

/// The larger of two numbers, or of each lane of two vectors; a NaN on either side is kept.
template <class V>
V larger_or_nan(V a, V b) {
  return ((b > a) | (b != b)) ? b : a;
}

/// A running maximum for use with for_lanes. Unlike LaneMax it keeps NaN.
template <class A>
class LaneMaxOrNan {
 public:
  LaneMaxOrNan() {
    for (Vector<A>& v : wide_) v = Vector<A>{} + one_;
  }
  template <int kSlot>
  void add(WideLanes<A, kSlot>, Vector<A> v) {
    wide_[kSlot] = larger_or_nan(wide_[kSlot], v);
  }
  void add(OneLane<A>, A v) { one_ = larger_or_nan(one_, v); }

  A total() const {
    const Vector<A> v =
        larger_or_nan(larger_or_nan(wide_[0], wide_[1]), larger_or_nan(wide_[2], wide_[3]));
    A lanes[kLanes<A>];
    for (int j = 0; j < kLanes<A>; ++j) lanes[j] = v[j];
    for (int half = kLanes<A> / 2; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) lanes[j] = larger_or_nan(lanes[j], lanes[j + half]);
    }
    return larger_or_nan(one_, lanes[0]);
  }

 private:
  Vector<A> wide_[4];
  A one_ = -std::numeric_limits<A>::infinity();
};

/// A reduction: of a row by its lanes, and of columns by combining numbers or vectors with kStart.
struct Sum {
  template <class A>
  using Lanes = LaneSum<A>;
  template <class A>
  static constexpr A kStart = 0;

  template <class V>
  static V combine(V a, V b) {
    return a + b;
  }
};
struct Max {
  template <class A>
  using Lanes = LaneMaxOrNan<A>;
  template <class A>
  static constexpr A kStart = -std::numeric_limits<A>::infinity();

  template <class V>
  static V combine(V a, V b) {
    return larger_or_nan(a, b);
  }
};

/// Processes four rows at a time, so that each result is loaded and stored a quarter as often.
template <class Of, class T>
[[gnu::flatten]] void reduce_columns(const Columns<T>& c) {
  using A = acc_t<T>;
  A* const results = c.results;
  for (std::int64_t j = 0; j < c.width; ++j) results[j] = Of::template kStart<A>;
  std::int64_t row = 0;
  for (; row + 4 <= c.rows; row += 4) {
    const T* const x0 = c.x + row * c.stride;
    const T *const x1 = x0 + c.stride, *const x2 = x1 + c.stride, *const x3 = x2 + c.stride;
    for_lanes<A>(c.width, [&](auto at, std::int64_t j) {
      const auto four = Of::combine(Of::combine(at.load(x0 + j), at.load(x1 + j)),
                                    Of::combine(at.load(x2 + j), at.load(x3 + j)));
      at.store(results + j, Of::combine(at.load(results + j), four));
    });
  }
  for (; row < c.rows; ++row) {
    const T* const x = c.x + row * c.stride;
    for_lanes<A>(c.width, [&](auto at, std::int64_t j) {
      at.store(results + j, Of::combine(at.load(results + j), at.load(x + j)));
    });
  }
}

template <class Of, class T>
[[gnu::flatten]] acc_t<T> reduce_row(const T* x, std::int64_t n) {
  using A = acc_t<T>;
  typename Of::template Lanes<A> lanes;
  for_lanes<A>(n, [&](auto at, std::int64_t i) { lanes.add(at, at.load(x + i)); });
  return lanes.total();
}

constexpr std::int64_t kStrip = 1 << 10;  // columns per strip, whose results stay in the L1 cache

/// Reduces the columns [first, first + kStrip) of one run.
template <class Of, class T>
void reduce_strip(const PartialsCall& c, std::int64_t index, std::int64_t first) {
  const std::int64_t start = index % c.runs * c.run, rows = smaller(c.run, c.n - start);
  const T* const at = static_cast<const T*>(c.x) + (index / c.runs * c.n + start) * c.inner + first;
  auto* const to = static_cast<acc_t<T>*>(c.results) + index * c.inner + first;
  if (c.inner == 1) {
    *to = reduce_row<Of>(at, rows);
  } else {
    reduce_columns<Of, T>({at, rows, smaller(kStrip, c.inner - first), c.inner, to});
  }
}

template <class Of>
void partials(const PartialsCall& c) {
  const std::int64_t strips = ceil_div(c.inner, kStrip);
  const std::int64_t work = smaller(c.run, c.n) * smaller(c.inner, kStrip);
  dispatch_float(c.dtype, [&](auto tag) {
    parallel_for(c.outer * c.runs * strips, kMinElements / larger(1, work) + 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t task = begin; task < end; ++task) {
                     reduce_strip<Of, decltype(tag)>(c, task / strips, task % strips * kStrip);
                   }
                 });
  });
}

}  // namespace

extern const ReduceKernels reduce_kernels{partials<Sum>, partials<Max>, reduce::l1_normalize,
                                          reduce::l1_normalize_grad, RunLengths{1 << 14, 1 << 8}};

}  // namespace fovea::ops::cpu::FOVEA_ISA
