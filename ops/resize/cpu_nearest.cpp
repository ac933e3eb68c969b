// Upsampling by repetition, one row of the small image at a time.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/run_sum.h"
#include "ops/resize/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA::resize {
namespace {

/// Repeats each of `count` elements `factor` times; the usual factor is a compile-time constant.
template <class T>
void repeat_row(const T* from, std::int64_t count, std::int64_t factor, T* to) {
  if (factor == 2) {
    for (std::int64_t i = 0; i < count; ++i) to[2 * i] = to[2 * i + 1] = from[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < factor; ++k) to[i * factor + k] = from[i];
  }
}

/// Sum of each square of `rows`, which are `factor` rows of factor * count elements, in row order.
/// The usual factor is a compile-time constant.
template <class T>
void sum_squares(const T* rows, std::int64_t count, std::int64_t factor, T* to) {
  using A = acc_t<T>;
  if (factor == 2) {
    const T* const below = rows + 2 * count;
    for (std::int64_t i = 0; i < 2 * count; i += 2)
      to[i / 2] = static_cast<T>(A(rows[i]) + A(rows[i + 1]) + A(below[i]) + A(below[i + 1]));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    detail::RunSum<A> sum;
    for (std::int64_t y = 0; y < factor; ++y) {
      sum.add(rows + (y * count + i) * factor, factor);
    }
    to[i] = static_cast<T>(sum.total());
  }
}

/// Calls body(row) for the rows of the small images.
template <class Body>
void for_rows(const UpsampleCall& c, const Body& body) {
  parallel_for(c.planes * c.height, grain(kMinElements, c.width * c.factor * c.factor),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) body(row);
               });
}

}  // namespace

void repeat(const UpsampleCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const std::int64_t wide = c.width * c.factor;
    for_rows(c, [&](std::int64_t row) {
      T* const to = static_cast<T*>(c.to) + row * c.factor * wide;
      repeat_row(static_cast<const T*>(c.from) + row * c.width, c.width, c.factor, to);
      for (std::int64_t y = 1; y < c.factor; ++y) {
        for (std::int64_t i = 0; i < wide; ++i) to[y * wide + i] = to[i];
      }
    });
  });
}

void square_sums(const UpsampleCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const std::int64_t square_row = c.width * c.factor * c.factor;
    for_rows(c, [&](std::int64_t row) {
      sum_squares(static_cast<const T*>(c.from) + row * square_row, c.width, c.factor,
                  static_cast<T*>(c.to) + row * c.width);
    });
  });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::resize
