// Average and max pooling, plane by plane.
#include "ops/pool.h"

#include <algorithm>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/common/checks.h"

namespace fovea::ops {
namespace {

/// One axis of the windows.
struct Axis {
  std::int64_t size, out, kernel, stride, padding;

  /// Input positions [first, last) of window i that lie in the image.
  [[nodiscard]] std::int64_t first(std::int64_t i) const {
    return std::max<std::int64_t>(0, i * stride - padding);
  }
  [[nodiscard]] std::int64_t last(std::int64_t i) const {
    return std::min(size, i * stride - padding + kernel);
  }
  /// Positions of window i that count with padding: those in the padded image.
  [[nodiscard]] std::int64_t padded_count(std::int64_t i) const {
    const std::int64_t begin = i * stride - padding;
    return std::min(begin + kernel, size + padding) - begin;
  }
};

struct Windows {
  std::int64_t planes;
  Axis y, x;
};

Axis make_axis(std::string_view op, std::int64_t size, const Pool2dOptions& o, std::size_t axis) {
  const std::int64_t kernel = o.kernel[axis], stride = o.stride[axis], padding = o.padding[axis];
  check(kernel >= 1 && stride >= 1, op, ": got kernel ", kernel, " and stride ", stride,
        ", expected at least 1");
  check(padding >= 0 && 2 * padding <= kernel, op, ": got padding ", padding,
        ", expected 0 to half the kernel of ", kernel);
  check(size + 2 * padding >= kernel, op, ": kernel ", kernel, " is larger than the padded input, ",
        size + 2 * padding);
  return {size, (size + 2 * padding - kernel) / stride + 1, kernel, stride, padding};
}

Windows windows_of(std::string_view op, const Tensor& x, const Pool2dOptions& o) {
  detail::require_one_device(op, {x});
  detail::require_float(op, x);
  check(x.rank() == 4, op, ": got shape ", x.shape(), ", expected [B, C, H, W]");
  return {x.shape()[0] * x.shape()[1], make_axis(op, x.shape()[2], o, 0),
          make_axis(op, x.shape()[3], o, 1)};
}

Shape out_shape(const Tensor& x, const Windows& w) {
  return {x.shape()[0], x.shape()[1], w.y.out, w.x.out};
}

/// Calls body(plane, i, j, index of the output) for every window, planes in parallel.
template <class Body>
void for_each_window(const Windows& w, Body body) {
  parallel_for(w.planes, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      std::int64_t index = plane * w.y.out * w.x.out;
      for (std::int64_t i = 0; i < w.y.out; ++i) {
        for (std::int64_t j = 0; j < w.x.out; ++j) body(plane, i, j, index++);
      }
    }
  });
}

/// Calls visit(position in x) for the pixels of a window, row by row.
template <class Visit>
void for_each_pixel(const Windows& w, std::int64_t plane, std::int64_t i, std::int64_t j,
                    Visit visit) {
  for (std::int64_t y = w.y.first(i); y < w.y.last(i); ++y) {
    const std::int64_t row = (plane * w.y.size + y) * w.x.size;
    for (std::int64_t x = w.x.first(j); x < w.x.last(j); ++x) visit(row + x);
  }
}

double divisor(const Windows& w, bool count_padding, std::int64_t i, std::int64_t j) {
  if (count_padding) return static_cast<double>(w.y.padded_count(i) * w.x.padded_count(j));
  return static_cast<double>((w.y.last(i) - w.y.first(i)) * (w.x.last(j) - w.x.first(j)));
}

template <class T>
Tensor average(const Tensor& x, const Windows& w, bool count_padding) {
  using A = acc_t<T>;
  const Tensor y = empty(out_shape(x, w), x.options());
  const T* const from = x.data<T>();
  T* const to = y.data<T>();
  for_each_window(w, [&](std::int64_t plane, std::int64_t i, std::int64_t j, std::int64_t index) {
    A sum = 0;
    for_each_pixel(w, plane, i, j, [&](std::int64_t at) { sum += static_cast<A>(from[at]); });
    to[index] = static_cast<T>(sum / static_cast<A>(divisor(w, count_padding, i, j)));
  });
  return y;
}

/// dx is gathered in the type of the sums, then rounded once.
template <class T>
Tensor average_gradient(const Tensor& dy, const Shape& shape, const Windows& w,
                        bool count_padding) {
  using A = acc_t<T>;
  const Tensor dx = zeros(shape, {dtype_of<A>, {}});
  const T* const upstream = dy.data<T>();
  A* const to = dx.data<A>();
  for_each_window(w, [&](std::int64_t plane, std::int64_t i, std::int64_t j, std::int64_t index) {
    const A share =
        static_cast<A>(upstream[index]) / static_cast<A>(divisor(w, count_padding, i, j));
    for_each_pixel(w, plane, i, j, [&](std::int64_t at) { to[at] += share; });
  });
  return dx.to(dy.dtype());
}

/// The maxima and, as i64, the position in x of the first of each. NaN wins.
template <class T>
void maxima(const Tensor& x, const Windows& w, const Tensor& y, const Tensor& positions) {
  const T* const from = x.data<T>();
  T* const to = y.data<T>();
  std::int64_t* const where = positions.data<std::int64_t>();
  for_each_window(w, [&](std::int64_t plane, std::int64_t i, std::int64_t j, std::int64_t index) {
    std::int64_t best = -1;
    for_each_pixel(w, plane, i, j, [&](std::int64_t at) {
      if (best < 0) {
        best = at;
        return;
      }
      const auto value = static_cast<acc_t<T>>(from[at]),
                 largest = static_cast<acc_t<T>>(from[best]);
      if (value > largest || (value != value && largest == largest)) best = at;
    });
    to[index] = from[best];
    where[index] = best;
  });
}

template <class T>
Tensor max_gradient(const Tensor& dy, const Tensor& positions, const Shape& shape,
                    const Windows& w) {
  using A = acc_t<T>;
  const Tensor dx = zeros(shape, {dtype_of<A>, {}});
  const T* const upstream = dy.data<T>();
  const std::int64_t* const where = positions.data<std::int64_t>();
  A* const to = dx.data<A>();
  for_each_window(w, [&](std::int64_t, std::int64_t, std::int64_t, std::int64_t index) {
    to[where[index]] += static_cast<A>(upstream[index]);
  });
  return dx.to(dy.dtype());
}

}  // namespace

Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const Windows w = windows_of("avg_pool2d", x, options);
  const bool count = options.count_include_pad;
  const Tensor packed = x.detach().contiguous();
  const Tensor y =
      dispatch_float(x.dtype(), [&](auto tag) { return average<decltype(tag)>(packed, w, count); });
  return record("avg_pool2d", y, {x}, {},
                [w, count, shape = x.shape()](const GradArgs& g) -> Grads {
                  return {dispatch_float(g.dy.dtype(), [&](auto tag) {
                    return average_gradient<decltype(tag)>(g.dy, shape, w, count);
                  })};
                });
}

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const Windows w = windows_of("max_pool2d", x, options);
  const Tensor packed = x.detach().contiguous();
  const Tensor y = empty(out_shape(x, w), x.options());
  const Tensor positions = empty(y.shape(), {DType::i64, {}});
  dispatch_float(x.dtype(), [&](auto tag) { maxima<decltype(tag)>(packed, w, y, positions); });
  return record("max_pool2d", y, {x}, {positions},
                [w, shape = x.shape()](const GradArgs& g) -> Grads {
                  return {dispatch_float(g.dy.dtype(), [&](auto tag) {
                    return max_gradient<decltype(tag)>(g.dy, g.saved[0], shape, w);
                  })};
                });
}

}  // namespace fovea::ops
