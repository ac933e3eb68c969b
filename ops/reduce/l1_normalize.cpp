// L1 normalisation of rows; an axis other than the last is moved to the end first.
#include "engine/autograd.h"
#include "ops/common/rows.h"
#include "ops/kernels.h"
#include "ops/reduce.h"
#include "ops/reduce/call.h"

namespace fovea::ops {
namespace {

L1NormalizeCall call_of(const Tensor& rows, double eps) {
  const detail::RowSize size(rows);
  return {
      .dtype = rows.dtype(), .rows = size.rows, .width = size.width, .eps = eps, .x = rows.raw()};
}

Tensor forward_rows(const Tensor& x, double eps) {
  const Tensor y = empty(x.shape(), x.options());
  L1NormalizeCall call = call_of(x, eps);
  call.y = y.raw();
  kernels(x.device()).reduce.l1_normalize(call);
  return y;
}

Tensor backward_rows(const Tensor& x, const Tensor& dy, double eps) {
  const Tensor dx = empty(x.shape(), x.options());
  L1NormalizeCall call = call_of(x, eps);
  call.dy = dy.raw();
  call.dx = dx.raw();
  kernels(x.device()).reduce.l1_normalize_grad(call);
  return dx;
}

}  // namespace

Tensor l1_normalize(const Tensor& x, int axis, double eps) {
  OpLabel op("l1_normalize");
  detail::require_float(op, x);
  axis = normalize_axis(op, axis, x.rank());
  op.set({{"axis", axis}, {"eps", eps}});
  const Tensor rows = detail::axis_to_end(x, axis);
  return record(op, detail::axis_from_end(forward_rows(rows, eps), axis), {x}, {rows},
                [axis, eps](const GradArgs& g) -> Grads {
                  const Tensor dy = detail::axis_to_end(g.dy, axis);
                  return {detail::axis_from_end(backward_rows(g.saved[0], dy, eps), axis)};
                });
}

}  // namespace fovea::ops
