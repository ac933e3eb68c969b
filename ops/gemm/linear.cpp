// Linear layers: one GEMM with bias, GELU and residual in its epilogue.
#include "engine/autograd.h"
#include "ops/common/checks.h"
#include "ops/common/parameters.h"
#include "ops/common/recomputed.h"
#include "ops/elementwise/activation_functors.h"
#include "ops/elementwise/map.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul.h"

namespace fovea::ops {
namespace {

using detail::as_matrix;
using detail::bias_as_used;
using detail::gemm;
using detail::transposed;
using detail::with_shape;

struct LinearDTypes {
  DType weight, bias;
};

/// The gradients of y = x w^T + b from dy [R, out]: GEMMs with the operands exchanged.
Grads linear_gradients(const GradArgs& g, const Tensor& dy, LinearDTypes dtypes) {
  const Tensor &x = g.saved[0], &weight = g.saved[1];
  Grads grads(3);
  if (g.needs(0)) grads[0] = with_shape(gemm(dy, weight, x.dtype()), x.shape());
  if (g.needs(1)) {
    const Tensor sum = g.accumulator(1);
    const Tensor dw = gemm(transposed(dy), as_matrix(x), dtypes.weight, {.into = sum});
    if (!sum.defined()) grads[1] = dw;
  }
  if (g.needs(2)) grads[2] = detail::column_sums(dy, dtypes.bias);
  return grads;
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
  const Tensor y =
      gemm(as_matrix(x), transposed(w), dtype, {.addend = addend, .bias = bias_as_used(bias)});
  op.multiply_adds = shape.numel() * x.size(-1);
  return record(op, with_shape(y, shape), {x, weight, bias, residual}, {x, w},
                [dtypes = dtypes_of(weight, bias)](const GradArgs& g) {
                  const Tensor dy = g.dy.to(g.saved[0].dtype());
                  Grads grads = linear_gradients(g, as_matrix(dy), dtypes);
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
                        {.bias = bias_as_used(bias),
                         .activation = is_erf ? GemmActivation::gelu : GemmActivation::gelu_tanh,
                         .pre_activation = z});
  op.multiply_adds = shape.numel() * x.size(-1);
  const Tensor result = record(op, with_shape(y, shape), {x, weight, bias}, {x, w, z},
                               [dtypes = dtypes_of(weight, bias), is_erf](const GradArgs& g) {
                                 const Tensor dz =
                                     is_erf ? detail::map(detail::GeluGrad{}, g.saved[2], g.dy)
                                            : detail::map(detail::GeluTanhGrad{}, g.saved[2], g.dy);
                                 return linear_gradients(g, as_matrix(dz), dtypes);
                               });
  return detail::recomputed_in_bf16(result, {z}, [is_erf](std::span<const Tensor> from) {
    return is_erf ? detail::map(detail::Gelu{}, from[0]) : detail::map(detail::GeluTanh{}, from[0]);
  });
}

Tensor compute_copy(const Tensor& parameter, DType dtype) { return parameter.cached_to(dtype); }

}  // namespace fovea::ops
