// Order statistics: max, min, argmax, topk, sort. Each finds i64 positions along an axis; the
// values are taken from there, and the derivative puts gradients back there.
#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/common/rows.h"
#include "ops/reduce.h"

namespace fovea::ops {
namespace {

// When a stands before b. NaN counts as the largest value, except that it also wins min().
struct Falling {
  template <class A>
  bool operator()(A a, A b) const {
    return a > b || (a != a && b == b);
  }
};
struct Rising {
  template <class A>
  bool operator()(A a, A b) const {
    return a < b || (a == a && b != b);
  }
};
struct RisingNanFirst {
  template <class A>
  bool operator()(A a, A b) const {
    return a < b || (a != a && b == b);
  }
};

/// Fills positions[0..count) with those of the first `count` of the n values in `order`; equal
/// values keep their order.
template <class T, class Order>
void first_positions(const T* x, std::int64_t n, std::int64_t* positions, std::int64_t count,
                     Order order) {
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const auto u = static_cast<acc_t<T>>(x[a]), v = static_cast<acc_t<T>>(x[b]);
    return order(u, v) || (!order(v, u) && a < b);
  };
  if (count == 1) {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < n; ++i) {
      if (before(i, best)) best = i;
    }
    positions[0] = best;
    return;
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  if (count == n) {
    std::sort(all.begin(), all.end(), before);
  } else {
    std::partial_sort(all.begin(), all.begin() + count, all.end(), before);
  }
  std::copy_n(all.begin(), count, positions);
}

/// Positions [..., count] along the last axis of packed rows.
template <class Order>
Tensor find_positions(const Tensor& rows, std::int64_t count, Order order) {
  Shape shape = rows.shape();
  shape[-1] = count;
  const Tensor positions = empty(shape, {DType::i64, {}});
  const detail::RowSize size(rows);
  std::int64_t* const to = positions.data<std::int64_t>();
  dispatch_any(rows.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* const x = rows.data<T>();
    parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end && count > 0; ++i) {
        first_positions(x + i * size.width, size.width, to + i * count, count, order);
      }
    });
  });
  return positions;
}

/// Calls body(row, column, position) for every entry of `positions` [..., count].
template <class Body>
void for_positions(const Tensor& positions, const Body& body) {
  const detail::RowSize size(positions);
  const std::int64_t* const at = positions.data<std::int64_t>();
  parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * size.width; i < end * size.width; ++i) {
      body(i / size.width, i, at[i]);
    }
  });
}

Tensor values_at(const Tensor& rows, const Tensor& positions) {
  const Tensor values = empty(positions.shape(), rows.options());
  const std::int64_t width = rows.shape()[-1];
  dispatch_any(rows.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* const from = rows.data<T>();
    T* const to = values.data<T>();
    for_positions(positions, [&](std::int64_t row, std::int64_t i, std::int64_t position) {
      to[i] = from[row * width + position];
    });
  });
  return values;
}

/// dx [..., width]: dy where positions point, 0 elsewhere. A position occurs once in a row.
Tensor scatter(const Tensor& dy, const Tensor& positions, std::int64_t width) {
  Shape shape = dy.shape();
  shape[-1] = width;
  const Tensor dx = zeros(shape, dy.options());
  dispatch_float(dy.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* const from = dy.data<T>();
    T* const to = dx.data<T>();
    for_positions(positions, [&](std::int64_t row, std::int64_t i, std::int64_t position) {
      to[row * width + position] = from[i];
    });
  });
  return dx;
}

Tensor without_axis(const Tensor& x, int axis) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.erase(axis);
  strides.erase(axis);
  return x.alias(shape, strides);
}

Tensor with_axis(const Tensor& x, int axis) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(axis, 1);
  strides.insert(axis, 1);
  return x.alias(shape, strides);
}

struct Selection {
  int axis = 0;
  std::int64_t count = 1;
  bool drop_axis = false;  ///< of a single element
};

/// The first `count` elements along `axis` in `order`, and their positions.
template <class Order>
std::pair<Tensor, Tensor> take(std::string_view op, const Tensor& x, Selection s, Order order) {
  const Tensor rows = detail::axis_to_end(x, s.axis);
  const Tensor positions = find_positions(rows, s.count, order);
  Tensor values = detail::axis_from_end(values_at(rows, positions), s.axis);
  if (s.drop_axis) values = without_axis(values, s.axis);
  return {record(op, values, {x}, {positions},
                 [s, width = rows.shape()[-1]](const GradArgs& g) -> Grads {
                   const Tensor dy = s.drop_axis ? with_axis(g.dy, s.axis) : g.dy;
                   const Tensor dx = scatter(detail::axis_to_end(dy, s.axis), g.saved[0], width);
                   return {detail::axis_from_end(dx, s.axis)};
                 }),
          detail::axis_from_end(positions, s.axis)};
}

int require_axis(std::string_view op, const Tensor& x, int axis) {
  detail::require_one_device(op, {x});
  return normalize_axis(op, axis, x.rank());
}

/// The axis of one extreme element: it must hold one.
int require_filled_axis(std::string_view op, const Tensor& x, int axis) {
  axis = require_axis(op, x, axis);
  check(x.shape()[axis] > 0, op, ": axis ", axis, " of shape ", x.shape(),
        " is empty, expected at least one element");
  return axis;
}

}  // namespace

Tensor max(const Tensor& x, int axis, bool keepdim) {
  axis = require_filled_axis("max", x, axis);
  return take("max", x, {axis, 1, !keepdim}, Falling{}).first;
}

Tensor min(const Tensor& x, int axis, bool keepdim) {
  axis = require_filled_axis("min", x, axis);
  return take("min", x, {axis, 1, !keepdim}, RisingNanFirst{}).first;
}

Tensor argmax(const Tensor& x, int axis, bool keepdim) {
  axis = require_filled_axis("argmax", x, axis);
  const Tensor positions =
      detail::axis_from_end(find_positions(detail::axis_to_end(x, axis), 1, Falling{}), axis);
  return keepdim ? positions : without_axis(positions, axis);
}

std::pair<Tensor, Tensor> topk(const Tensor& x, std::int64_t k, int axis) {
  axis = require_axis("topk", x, axis);
  check(k >= 0 && k <= x.shape()[axis], "topk: got k = ", k, " for axis ", axis, " of shape ",
        x.shape(), ", expected 0 to ", x.shape()[axis]);
  return take("topk", x, {axis, k}, Falling{});
}

std::pair<Tensor, Tensor> sort(const Tensor& x, int axis, bool descending) {
  axis = require_axis("sort", x, axis);
  const Selection all{axis, x.shape()[axis]};
  return descending ? take("sort", x, all, Falling{}) : take("sort", x, all, Rising{});
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
  return sort(x.detach(), axis, descending).second;
}

}  // namespace fovea::ops
