// Order statistics: max, min, argmax, topk, sort. Each finds i64 positions along an axis, gathers
// the values there, and scatters gradients to the same positions.
#include "ops/order.h"

#include <string_view>

#include "engine/autograd.h"
#include "engine/trace.h"
#include "ops/common/rows.h"
#include "ops/kernels.h"
#include "ops/order/call.h"

namespace fovea::ops {
namespace {

/// Positions [..., count] along the last axis of packed rows.
Tensor find_positions(const Tensor& rows, std::int64_t count, Order order) {
  Shape shape = rows.shape();
  shape[-1] = count;
  const Tensor positions = empty(shape, {DType::i64, rows.device()});
  const detail::RowSize size(rows);
  kernels(rows.device())
      .order.first_positions({rows.dtype(), order, size.rows, size.width, count, rows.raw(),
                              reinterpret_cast<std::int64_t*>(positions.raw())});
  return positions;
}

/// The call that connects packed rows x, `positions` [..., count] and `values`.
ValuesAtCall make_call(const Tensor& x, const Tensor& positions, const Tensor& values) {
  const detail::RowSize from(x), to(positions);
  return {x.dtype(),
          from.rows,
          from.width,
          to.width,
          reinterpret_cast<const std::int64_t*>(positions.raw()),
          x.raw(),
          values.raw()};
}

Tensor values_at(const Tensor& rows, const Tensor& positions) {
  const Tensor values = empty(positions.shape(), rows.options());
  kernels(rows.device()).order.values_at(make_call(rows, positions, values));
  return values;
}

/// dx [..., width]: dy at the positions, 0 elsewhere.
Tensor scatter(const Tensor& dy, const Tensor& positions, std::int64_t width) {
  Shape shape = dy.shape();
  shape[-1] = width;
  const Tensor dx = zeros(shape, dy.options());
  kernels(dy.device()).order.scatter(make_call(dx, positions, dy));
  return dx;
}

struct Selection {
  int axis = 0;
  std::int64_t count = 1;
  Order order = Order::falling;
  bool drop_axis = false;  ///< drop the axis; for a single element only
};

/// The first `count` elements along `axis` in `order`, and their positions; traces show both.
std::pair<Tensor, Tensor> take(const OpLabel& op, const Tensor& x, const Selection& s) {
  const Tensor rows = detail::axis_to_end(x, s.axis);
  const Tensor positions = find_positions(rows, s.count, s.order);
  Tensor values = detail::axis_from_end(values_at(rows, positions), s.axis);
  if (s.drop_axis) values = detail::without_axis(values, s.axis);
  const Tensor found = detail::axis_from_end(positions, s.axis);
  const FurtherOutputs shown(found);
  return {record(op, values, {x}, {positions},
                 [s, width = rows.shape()[-1]](const GradArgs& g) -> Grads {
                   const Tensor dy = s.drop_axis ? detail::with_axis(g.dy, s.axis) : g.dy;
                   const Tensor dx = scatter(detail::axis_to_end(dy, s.axis), g.saved[0], width);
                   return {detail::axis_from_end(dx, s.axis)};
                 }),
          found};
}

/// The axis of an extreme element; throws unless the axis has elements.
int require_filled_axis(OpLabel& op, const Tensor& x, int axis, bool keepdim) {
  axis = normalize_axis(op, axis, x.rank());
  check(x.shape()[axis] > 0, op, ": axis ", axis, " of shape ", x.shape(),
        " is empty, expected at least one element");
  op.set({{"axis", axis}, {"keepdim", keepdim}});
  return axis;
}

}  // namespace

Tensor max(const Tensor& x, int axis, bool keepdim) {
  OpLabel op("max");
  axis = require_filled_axis(op, x, axis, keepdim);
  return take(op, x, {axis, 1, Order::falling, !keepdim}).first;
}

Tensor min(const Tensor& x, int axis, bool keepdim) {
  OpLabel op("min");
  axis = require_filled_axis(op, x, axis, keepdim);
  return take(op, x, {axis, 1, Order::rising_nan_first, !keepdim}).first;
}

Tensor argmax(const Tensor& x, int axis, bool keepdim) {
  OpLabel op("argmax");
  axis = require_filled_axis(op, x, axis, keepdim);
  const Tensor positions =
      detail::axis_from_end(find_positions(detail::axis_to_end(x, axis), 1, Order::falling), axis);
  return record_constant(op, keepdim ? positions : detail::without_axis(positions, axis), {x});
}

std::pair<Tensor, Tensor> topk(const Tensor& x, std::int64_t k, int axis) {
  OpLabel op("topk");
  axis = normalize_axis(op, axis, x.rank());
  check(k >= 0 && k <= x.shape()[axis], "topk: got k = ", k, " for axis ", axis, " of shape ",
        x.shape(), ", expected 0 to ", x.shape()[axis]);
  op.set({{"k", k}, {"axis", axis}});
  return take(op, x, {axis, k});
}

std::pair<Tensor, Tensor> sort(const Tensor& x, int axis, bool descending) {
  OpLabel op("sort");
  axis = normalize_axis(op, axis, x.rank());
  op.set({{"axis", axis}, {"descending", descending}});
  return take(op, x, {axis, x.shape()[axis], descending ? Order::falling : Order::rising});
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
  OpLabel op("argsort");
  axis = normalize_axis(op, axis, x.rank());
  op.set({{"axis", axis}, {"descending", descending}});
  return record_constant(op, sort(x.detach(), axis, descending).second, {x});
}

}  // namespace fovea::ops
