// Linear layers: one GEMM with bias, GELU and residual in its epilogue.
#include "engine/autograd.h"
#include "engine/kept_copy.h"
#include "engine/late_sums.h"
#include "ops/common/checks.h"
#include "ops/common/parameters.h"
#include "ops/common/recomputed.h"
#include "ops/elementwise/activation_functors.h"
#include "ops/elementwise/map.h"
#include "ops/gemm/gemm.h"
#include "ops/kernels.h"
#include "ops/matmul.h"

namespace fovea::ops {
namespace {

using detail::as_matrix;
using detail::gemm;
using detail::transposed;
using detail::with_shape;

struct LinearDTypes {
  DType weight, bias;
};

/// The gradients of y = x w^T + b from dy [R, out]: GEMMs with the operands exchanged. `db` is the
/// bias's if it is known.
Grads linear_gradients(const GradArgs& g, const Tensor& dy, LinearDTypes dtypes,
                       const Tensor& db = {}) {
  const Tensor &x = g.saved[0], &weight = g.saved[1];
  Grads grads(3);
  if (g.needs(0)) grads[0] = with_shape(gemm(dy, weight, x.dtype()), x.shape());
  if (g.needs(1)) {
    const Tensor sum = g.accumulator(1);
    const Tensor dw = gemm(transposed(dy), as_matrix(x), dtypes.weight, {.into = sum});
    if (!sum.defined()) grads[1] = dw;
  }
  if (g.needs(2)) grads[2] = db.defined() ? db : detail::column_sums(dy, dtypes.bias);
  return grads;
}

/// The bias's gradient, if the pass that made dy has left its parts.
Tensor sum_of_parts(const GradArgs& g, DType bias) {
  const Tensor parts = g.needs(2) ? kept_parts(g.dy) : Tensor();
  return parts.defined() && parts.dtype() == bias ? late_sum(parts) : Tensor();
}

/// The gradients of y = gelu(z), z = x w^T + b. Where sums are late, dz and its sums are one pass.
Grads linear_gelu_gradients(const GradArgs& g, LinearDTypes dtypes, bool is_erf) {
  const Tensor& z = g.saved[2];
  const bool at_once = g.needs(2) && dtypes.bias == acc_dtype(z.dtype()) && sums_late(z.device()) &&
                       z.numel() > 0 && z.is_contiguous();
  if (!at_once) {
    const Tensor dz = is_erf ? detail::map(detail::GeluGrad{}, z, g.dy)
                             : detail::map(detail::GeluTanhGrad{}, z, g.dy);
    return linear_gradients(g, as_matrix(dz), dtypes);
  }
  const Tensor dz = empty(z.shape(), z.options());
  GeluGradCall call{
      .dtype = z.dtype(), .is_erf = is_erf, .rows = z.numel() / z.size(-1), .cols = z.size(-1)};
  call.rows_a_part = rows_a_part(call.rows);
  const Tensor parts = empty({call.parts(), call.cols}, {dtypes.bias, z.device()});
  call.z = z.raw();
  call.dy = g.dy.raw();
  call.dz = dz.raw();
  call.sums = parts.raw();
  kernels(z.device()).gemm.gelu_grad(call);
  return linear_gradients(g, as_matrix(dz), dtypes, late_sum(parts));
}

LinearDTypes dtypes_of(const Tensor& weight, const Tensor& bias) {
  return {weight.dtype(), bias.defined() ? bias.dtype() : DType::f32};
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& residual) {
  OpLabel op("linear");
  const Shape shape = detail::linear_shape(op, x.shape(), weight, bias);
  detail::require_parameters(op, x, weight, bias);
  detail::require_one_device(op, {x, weight, bias, residual});
  detail::require_residual(op, residual, shape, x);
  const Tensor w = compute_copy(weight, x.dtype()).detach();
  const DType dtype = residual.defined() ? residual.dtype() : x.dtype();
  const Tensor addend = residual.defined() ? residual.detach().contiguous() : residual;
  const Tensor y = gemm(as_matrix(x), transposed(w), dtype, {.addend = addend, .bias = bias});
  op.multiply_adds = shape.numel() * x.size(-1);
  return record(op, with_shape(y, shape), {x, weight, bias, residual}, {x, w},
                [dtypes = dtypes_of(weight, bias)](const GradArgs& g) {
                  const Tensor dy = converted(g.dy, g.saved[0].dtype());
                  Grads grads =
                      linear_gradients(g, as_matrix(dy), dtypes, sum_of_parts(g, dtypes.bias));
                  grads.push_back(g.dy);
                  return grads;
                });
}

Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias, GeluForm form) {
  const bool is_erf = form == GeluForm::erf;
  OpLabel op("linear_gelu", {{"form", is_erf ? "erf" : "tanh"}});
  const Shape shape = detail::linear_shape(op, x.shape(), weight, bias);
  detail::require_parameters(op, x, weight, bias);
  detail::require_one_device(op, {x, weight, bias});
  const Tensor w = compute_copy(weight, x.dtype()).detach();
  const Tensor z = needs_tape({x, weight, bias}) ? empty(shape, x.options()) : Tensor();
  const Tensor y = gemm(as_matrix(x), transposed(w), x.dtype(),
                        {.bias = bias,
                         .activation = is_erf ? GemmActivation::gelu : GemmActivation::gelu_tanh,
                         .pre_activation = z});
  op.multiply_adds = shape.numel() * x.size(-1);
  const Tensor result = record(op, with_shape(y, shape), {x, weight, bias}, {x, w, z},
                               [dtypes = dtypes_of(weight, bias), is_erf](const GradArgs& g) {
                                 return linear_gelu_gradients(g, dtypes, is_erf);
                               });
  return detail::recomputed_in_bf16(result, {z}, [is_erf](std::span<const Tensor> from) {
    return is_erf ? detail::map(detail::Gelu{}, from[0]) : detail::map(detail::GeluTanh{}, from[0]);
  });
}

Tensor compute_copy(const Tensor& parameter, DType dtype) { return parameter.cached_to(dtype); }

}  // namespace fovea::ops
