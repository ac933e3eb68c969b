// Average and max pooling, plane by plane.
#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/run_sum.h"
#include "ops/pool/call.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

/// One output of window (i, j) of a plane, at `index` of y.
struct Window {
  std::int64_t plane, i, j, index;
};

/// Calls start(plane), then body(window) for every window of that plane; planes run in parallel.
template <class Start, class Body>
void for_each_window(const PoolWindows& w, const Start& start, const Body& body) {
  const std::int64_t size = larger(w.height.size * w.width.size, w.height.out * w.width.out);
  parallel_for(w.planes, grain(kMinElements, size), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      start(plane);
      std::int64_t index = plane * w.height.out * w.width.out;
      for (std::int64_t i = 0; i < w.height.out; ++i) {
        for (std::int64_t j = 0; j < w.width.out; ++j) body(Window{plane, i, j, index++});
      }
    }
  });
}

/// Calls visit(first position in x, count) for the rows of a window.
template <class Visit>
void for_each_row(const PoolWindows& w, const Window& at, const Visit& visit) {
  const std::int64_t left = w.width.first(at.j), right = w.width.last(at.j);
  for (std::int64_t y = w.height.first(at.i); y < w.height.last(at.i); ++y) {
    visit((at.plane * w.height.size + y) * w.width.size + left, right - left);
  }
}

/// Calls visit(position in x) for the pixels of a window, row by row.
template <class Visit>
void for_each_pixel(const PoolWindows& w, const Window& at, const Visit& visit) {
  for_each_row(w, at, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t x = 0; x < count; ++x) visit(first + x);
  });
}

/// The sum of a window, in runs if it is large.
template <class A, class T>
A window_sum(const PoolWindows& w, const Window& at, const T* from) {
  if (w.height.kernel * w.width.kernel <= detail::kRunTerms) {  // the same bits in less time
    A sum = 0;
    for_each_pixel(w, at, [&](std::int64_t i) { sum += static_cast<A>(from[i]); });
    return sum;
  }
  detail::RunSum<A> sum;
  for_each_row(w, at,
               [&](std::int64_t first, std::int64_t count) { sum.add(from + first, count); });
  return sum.total();
}

std::int64_t divisor(const PoolWindows& w, const Window& at) {
  if (w.count_padding) return w.height.padded_count(at.i) * w.width.padded_count(at.j);
  return (w.height.last(at.i) - w.height.first(at.i)) * (w.width.last(at.j) - w.width.first(at.j));
}

void average(const PoolCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = acc_t<T>;
    const auto* const from = static_cast<const T*>(c.x);
    auto* const to = static_cast<T*>(c.y);
    for_each_window(
        c.windows, [](std::int64_t) {},
        [&](const Window& w) {
          const A sum = window_sum<A>(c.windows, w, from);
          to[w.index] = static_cast<T>(sum / static_cast<A>(divisor(c.windows, w)));
        });
  });
}

/// Position of the first maximum of a window, or of its first NaN.
template <class T>
std::int64_t first_maximum(const T* x, const PoolWindows& windows, const Window& w) {
  std::int64_t best = -1;
  for_each_pixel(windows, w, [&](std::int64_t at) {
    if (best < 0) {
      best = at;
      return;
    }
    const auto value = static_cast<acc_t<T>>(x[at]), largest = static_cast<acc_t<T>>(x[best]);
    if (value > largest || (value != value && largest == largest)) best = at;  // NOLINT: is NaN
  });
  return best;
}

void maximum(const PoolCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto* const from = static_cast<const T*>(c.x);
    auto* const to = static_cast<T*>(c.y);
    for_each_window(
        c.windows, [](std::int64_t) {},
        [&](const Window& w) {
          const std::int64_t best = first_maximum(from, c.windows, w);
          to[w.index] = from[best];
          c.positions[w.index] = best;
        });
  });
}

/// Adds spread(dy of a window, window, dx) over all windows to dx, which is zero on entry.
template <class Spread>
void gather(const PoolGradCall& c, const Spread& spread) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = acc_t<T>;
    const auto* const dy = static_cast<const T*>(c.dy);
    auto* const dx = static_cast<A*>(c.dx);
    const std::int64_t size = c.windows.height.size * c.windows.width.size;
    const auto clear = [&](std::int64_t plane) {
      for (std::int64_t k = 0; k < size; ++k) dx[plane * size + k] = 0;
    };
    for_each_window(c.windows, clear,
                    [&](const Window& w) { spread(static_cast<A>(dy[w.index]), w, dx); });
  });
}

void average_grad(const PoolGradCall& c) {
  gather(c, [&](auto upstream, const Window& w, auto* to) {
    const auto share = upstream / static_cast<decltype(upstream)>(divisor(c.windows, w));
    for_each_pixel(c.windows, w, [&](std::int64_t at) { to[at] += share; });
  });
}

void maximum_grad(const PoolGradCall& c) {
  gather(c,
         [&](auto upstream, const Window& w, auto* to) { to[c.positions[w.index]] += upstream; });
}

}  // namespace

extern const PoolKernels pool_kernels{average, average_grad, maximum, maximum_grad};

}  // namespace fovea::ops::cpu::FOVEA_ISA
