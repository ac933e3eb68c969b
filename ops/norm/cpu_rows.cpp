// Layer norm and RMS norm of rows, and their derivatives.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/norm/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA::norm {
namespace {

/// Mean and rstd of a row. Two passes, the first of which loads it into the cache: E(x - mean)^2
/// keeps digits that E x^2 - mean^2 would lose. RMS norm needs the second alone.
template <bool kCentred, class T>
[[gnu::always_inline]] inline void measure_row(const LayerNormCall& c, std::int64_t row,
                                               const T* x) {
  using A = acc_t<T>;
  const A width = static_cast<A>(c.width);
  const A mean = kCentred ? sum_of(x, c.width) / width : A(0);
  const A variance = centred_squares(x, c.width, mean) / width;
  if constexpr (kCentred) static_cast<A*>(c.mean)[row] = mean;
  static_cast<A*>(c.rstd)[row] =
      A(1) / static_cast<A>(__builtin_sqrt(variance + static_cast<A>(c.eps)));
}

/// y = (x - mean) rstd w + b.
template <class T, class Y, bool kCentred>
[[gnu::flatten]] void normalise_rows(const LayerNormCall& c, std::int64_t begin, std::int64_t end) {
  using A = acc_t<T>;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t affine = row / c.shared * c.width;
    const A* const weight = static_cast<const A*>(c.weight) + affine;
    const A* const bias = kCentred ? static_cast<const A*>(c.bias) + affine : nullptr;
    const T* const x = static_cast<const T*>(c.x) + row * c.width;
    Y* const y = static_cast<Y*>(c.y) + row * c.width;
    if (!c.knows_statistics) measure_row<kCentred>(c, row, x);
    const A mean = kCentred ? static_cast<const A*>(c.mean)[row] : A(0);
    const A rstd = static_cast<const A*>(c.rstd)[row];
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      const auto normalised = (at.load(x + i) - mean) * rstd;
      if constexpr (kCentred) {
        at.store(y + i, normalised * at.load(weight + i) + at.load(bias + i));
      } else {
        at.store(y + i, normalised * at.load(weight + i));
      }
    });
  }
}

/// With h = (x - mean) rstd and g = dy w:
/// dx = rstd (g - mean(g) - h mean(g h)),  dw += dy h,  db += dy.
/// RMS norm lacks mean, mean(g) and db. All rows have the same w.
template <class T, class Y, bool kCentred>
[[gnu::flatten]] void differentiate_rows(const LayerNormGradCall& c, std::int64_t begin,
                                         std::int64_t end, acc_t<T>* dweight) {
  using A = acc_t<T>;
  const A width = static_cast<A>(c.width);
  const A* const weight = static_cast<const A*>(c.weight) + begin / c.shared * c.width;
  A* const dbias = dweight + c.width;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* const x = static_cast<const T*>(c.x) + row * c.width;
    const Y* const dy = static_cast<const Y*>(c.dy) + row * c.width;
    T* const dx = static_cast<T*>(c.dx) + row * c.width;
    const A mean = kCentred ? static_cast<const A*>(c.mean)[row] : A(0);
    const A rstd = static_cast<const A*>(c.rstd)[row];
    LaneSum<A> sum_g, sum_gh;
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      const auto upstream = at.load(dy + i);
      const auto h = (at.load(x + i) - mean) * rstd;
      const auto g = upstream * at.load(weight + i);
      if constexpr (kCentred) sum_g.add(at, g);
      sum_gh.add(at, g * h);
      at.store(dweight + i, at.load(dweight + i) + upstream * h);
      if constexpr (kCentred) at.store(dbias + i, at.load(dbias + i) + upstream);
    });
    const A mean_g = kCentred ? sum_g.total() / width : A(0);
    const A mean_gh = sum_gh.total() / width;
    for_lanes<A>(c.width, [&](auto at, std::int64_t i) {
      const auto h = (at.load(x + i) - mean) * rstd;
      at.store(dx + i, (at.load(dy + i) * at.load(weight + i) - mean_g - h * mean_gh) * rstd);
    });
  }
}

}  // namespace

void layer_norm(const LayerNormCall& c) {
  with_row_types(c.dtype, c.y_dtype, [&](auto x, auto y) {
    with_centred(c.centred, [&](auto centred) {
      parallel_for(c.rows, grain(kMinElements, c.width), [&](std::int64_t begin, std::int64_t end) {
        normalise_rows<decltype(x), decltype(y), decltype(centred)::value>(c, begin, end);
      });
    });
  });
}

void layer_norm_grad(const LayerNormGradCall& c) {
  with_row_types(c.dtype, c.y_dtype, [&](auto x, auto y) {
    using T = decltype(x);
    using Y = decltype(y);
    with_centred(c.centred, [&](auto centred) {
      parallel_for(c.chunks(), 1, [&](std::int64_t chunk, std::int64_t) {
        acc_t<T>* const sums = static_cast<acc_t<T>*>(c.sums) + chunk * c.parameters() * c.width;
        differentiate_rows<T, Y, decltype(centred)::value>(c, c.first_row(chunk), c.end_row(chunk),
                                                           sums);
      });
    });
  });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::norm
