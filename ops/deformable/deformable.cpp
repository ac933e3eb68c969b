// Deformable attention: checks, and the tensors saved for the derivative.
#include "ops/deformable.h"

#include <array>

#include "engine/autograd.h"
#include "ops/common/rows.h"
#include "ops/deformable/call.h"
#include "ops/kernels.h"

namespace fovea::ops {
namespace {

void check_inputs(const Tensor& value, const Tensor& locations, const Tensor& weights) {
  const char* const op = "deformable_attention";
  detail::require_one_device(op, {value, locations, weights});
  for (const Tensor& t : {value, locations, weights}) detail::require_float(op, t);
  check(value.rank() == 5, op, ": got value ", value.shape(), ", expected [B, h, w, H, D]");
  const std::int64_t batch = value.size(0), heads = value.size(3);
  check(locations.rank() == 5 && locations.size(0) == batch && locations.size(2) == heads &&
            locations.size(4) == 2,
        op, ": got locations ", locations.shape(), " for value ", value.shape(), ", expected [",
        batch, ", Q, ", heads, ", P, 2]");
  const Shape expected{batch, locations.size(1), heads, locations.size(3)};
  check(weights.shape() == expected, op, ": got weights ", weights.shape(), " for locations ",
        locations.shape(), ", expected ", expected);
}

DeformableCall make_call(const Tensor& value, const Tensor& locations, const Tensor& weights) {
  return {.dtype = value.dtype(),
          .batch = value.size(0),
          .height = value.size(1),
          .width = value.size(2),
          .heads = value.size(3),
          .channels = value.size(4),
          .queries = locations.size(1),
          .points = locations.size(3),
          .value = value.raw(),
          .locations = locations.raw(),
          .weights = weights.raw()};
}

/// The gradients of value, unless it is not wanted, locations and weights.
std::array<Tensor, 3> differentiate(const DeformableCall& call, const GradArgs& g) {
  const Tensor &value = g.saved[0], &locations = g.saved[1], &weights = g.saved[2];
  const Tensor dvalue = g.needs(0) ? zeros(value.shape(), locations.options()) : Tensor();
  const Tensor dlocations = empty(locations.shape(), locations.options());
  const Tensor dweights = empty(weights.shape(), weights.options());
  kernels(value.device())
      .deformable.backward({.forward = call,
                            .dy = g.dy.raw(),
                            .dvalue = dvalue.defined() ? dvalue.raw() : nullptr,
                            .dlocations = dlocations.raw(),
                            .dweights = dweights.raw()});
  return {dvalue, dlocations, dweights};
}

}  // namespace

Tensor deformable_attention(const Tensor& value, const Tensor& locations, const Tensor& weights) {
  OpLabel op("deformable_attention");
  check_inputs(value, locations, weights);
  const DType wide = acc_dtype(value.dtype());
  const Tensor v = detail::detached_contiguous(value);
  const Tensor l = detail::detached_contiguous(locations).to(wide),
               w = detail::detached_contiguous(weights).to(wide);
  DeformableCall call = make_call(v, l, w);
  const Tensor y = empty({call.batch, call.queries, call.heads * call.channels}, v.options());
  call.y = y.raw();
  kernels(y.device()).deformable.forward(call);
  op.multiply_adds = 4 * call.points * y.numel();
  return record(op, y, {value, locations, weights}, {v, l, w},
                [from = locations.dtype(), share = weights.dtype()](const GradArgs& g) -> Grads {
                  const auto [dv, dl, dw] =
                      differentiate(make_call(g.saved[0], g.saved[1], g.saved[2]), g);
                  return {dv.defined() ? dv.to(g.saved[0].dtype()) : dv, dl.to(from), dw.to(share)};
                });
}

}  // namespace fovea::ops
