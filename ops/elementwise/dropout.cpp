// Dropout and stochastic depth.
#include "ops/dropout.h"

#include "engine/autograd.h"
#include "ops/common/checks.h"
#include "ops/elementwise/map.h"

namespace fovea::ops {
namespace {

using namespace detail;  // NOLINT: map, the functors and the checks

void require_rate(std::string_view op, double rate) {
  check(rate >= 0 && rate < 1, op, ": got rate ", rate, ", expected 0 <= rate < 1");
}

/// Per-sample factor, 0 or 1 / (1 - rate), shaped to broadcast against x: [B, 1, ...].
Tensor sample_scale(const Tensor& x, double rate, const StepKey& key) {
  Shape shape = x.shape();
  for (int axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
  const TensorOptions options{acc_dtype(x.dtype()), x.device()};  // not rounded to bf16
  return map(SampleScale{key.on(x.device()), static_cast<float>(rate), 1 / (1 - rate)}, shape,
             options);
}

/// map() to x's shape in `dtype`, even if the scale is f32.
template <class F, class... Inputs>
Tensor map_as(DType dtype, const Tensor& x, F f, const Inputs&... inputs) {
  const Tensor y = empty(x.shape(), {dtype, x.device()});
  map_into(y, f, inputs...);
  return y;
}

}  // namespace

Tensor dropout(const Tensor& x, double rate, const StepKey& key) {
  const OpLabel op("dropout", {{"rate", rate}});
  require_float(op, x);
  require_rate(op, rate);
  if (rate == 0) return x;
  const DropElements drop{key.on(x.device()), static_cast<float>(rate), 1 / (1 - rate)};
  return record(op, map(drop, x), {x}, {key.step_on(x.device())},
                [drop](const GradArgs& g) -> Grads { return {map(drop, g.dy)}; });
}

Tensor drop_path(const Tensor& x, double rate, const StepKey& key) {
  const OpLabel op("drop_path", {{"rate", rate}});
  require_float(op, x);
  require_rate(op, rate);
  check(x.rank() >= 1, "drop_path: got a scalar, expected samples along axis 0");
  if (rate == 0) return x;
  const Tensor scale = sample_scale(x, rate, key);
  return record(op, map_as(x.dtype(), x, ScaleOrDrop{}, x, scale), {x}, {scale},
                [](const GradArgs& g) -> Grads {
                  return {map_as(g.dy.dtype(), g.dy, ScaleOrDrop{}, g.dy, g.saved[0])};
                });
}

Tensor add_drop_path(const Tensor& residual, const Tensor& branch, double rate,
                     const StepKey& key) {
  const OpLabel op("add_drop_path", {{"rate", rate}});
  require_float(op, residual);
  require_rate(op, rate);
  const bool mixed = residual.dtype() == DType::f32 && branch.dtype() == DType::bf16;
  check(residual.shape() == branch.shape() && (mixed || residual.dtype() == branch.dtype()),
        "add_drop_path: residual ", residual.shape(), " of ", residual.dtype(), " and branch ",
        branch.shape(), " of ", branch.dtype(), ", expected equal");
  const DType own = branch.dtype();
  check(residual.rank() >= 1, "add_drop_path: got scalars, expected samples along axis 0");
  if (rate == 0) {
    return record(op, map(Add{}, residual, branch), {residual, branch}, {},
                  [own](const GradArgs& g) -> Grads {
                    return {g.dy, g.needs(1) ? g.dy.to(own) : Tensor()};
                  });
  }
  const Tensor scale = sample_scale(residual, rate, key);
  return record(op, map_as(residual.dtype(), residual, AddScaled{}, residual, branch, scale),
                {residual, branch}, {scale}, [own](const GradArgs& g) -> Grads {
                  if (!g.needs(1)) return {g.dy, {}};
                  return {g.dy, map_as(own, g.dy, ScaleOrDrop{}, g.dy, g.saved[0])};
                });
}

}  // namespace fovea::ops
