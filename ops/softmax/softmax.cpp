// Softmax and log-softmax. Kernels receive packed rows; an axis other than the last is moved to
// the end first. The derivative reads the output.
#include "ops/softmax.h"

#include "engine/autograd.h"
#include "ops/common/rows.h"
#include "ops/kernels.h"
#include "ops/softmax/call.h"

namespace fovea::ops {
namespace {

Tensor forward_rows(const Tensor& x, bool log) {
  const Tensor y = empty(x.shape(), x.options());
  const detail::RowSize size(x);
  kernels(x.device()).softmax.forward({x.dtype(), log, size.rows, size.width, x.raw(), y.raw()});
  return y;
}

Tensor backward_rows(const Tensor& y, const Tensor& dy, bool log) {
  const Tensor dx = empty(y.shape(), y.options());
  const detail::RowSize size(y);
  kernels(y.device())
      .softmax.backward({y.dtype(), log, size.rows, size.width, y.raw(), dy.raw(), dx.raw()});
  return dx;
}

Tensor along_axis(OpLabel&& op, const Tensor& x, int axis, bool log) {
  detail::require_float(op, x);
  axis = normalize_axis(op, axis, x.rank());
  op.set({"axis", axis});
  const Tensor rows = forward_rows(detail::axis_to_end(x, axis), log);
  return record(op, detail::axis_from_end(rows, axis), {x}, {rows},
                [axis, log](const GradArgs& g) -> Grads {
                  const Tensor dy = detail::axis_to_end(g.dy, axis);
                  return {detail::axis_from_end(backward_rows(g.saved[0], dy, log), axis)};
                });
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) { return along_axis("softmax", x, axis, false); }
Tensor log_softmax(const Tensor& x, int axis) { return along_axis("log_softmax", x, axis, true); }

}  // namespace fovea::ops
