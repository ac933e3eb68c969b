// Matrix products and their derivatives, which are matrix products too.
#include "ops/matmul.h"

#include <utility>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/tensor_impl.h"
#include "ops/cpu/linear.h"
#include "ops/detail/checks.h"
#include "ops/detail/parameters.h"
#include "ops/detail/product.h"

namespace fovea::ops {
namespace {

using detail::as_matrix;
using detail::bias_as_used;
using detail::exchanged;
using detail::product;
using detail::with_shape;

void require_factors(const Tensor& a, const Tensor& b) {
  detail::require_float("matmul", a);
  check(a.dtype() == b.dtype(), "matmul: got dtypes ", to_string(a.dtype()), " and ",
        to_string(b.dtype()), ", expected the same; convert one with to(dtype)");
  check(a.device() == b.device(), "matmul: got tensors on ", to_string(a.device()), " and ",
        to_string(b.device()), ", expected one device");
  check(a.rank() >= 2 && b.rank() >= 2, "matmul: got shapes ", a.shape(), " and ", b.shape(),
        ", expected at least two axes each");
}

/// a b of matrices; when b is one matrix for a whole batch, the batch is so many more rows.
Tensor multiply(const Tensor& a, const Tensor& b) {
  if (b.rank() > 2 || a.rank() == 2) return product(a, b, a.dtype());
  Shape shape = a.shape();
  shape[-1] = b.shape()[-1];
  return with_shape(product(as_matrix(a), b, a.dtype()), shape);
}

/// d/db of a b, [..., K, N] or, when b is one matrix for a whole batch, summed over that [K, N].
Tensor right_gradient(const Tensor& a, const Tensor& b, const Tensor& dy) {
  if (b.rank() > 2 || a.rank() == 2) return product(exchanged(a), dy, b.dtype());
  return product(exchanged(as_matrix(a)), as_matrix(dy), b.dtype());
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose) {
  require_factors(a, b);
  const Tensor left = transpose.a ? exchanged(a) : a.detach();
  const Tensor right = transpose.b ? exchanged(b) : b.detach();
  check(left.shape()[-1] == right.shape()[-2], "matmul: inner sizes differ: a ", left.shape(),
        " x b ", right.shape(),
        left.shape()[-1] == right.shape()[-1] ? " (did you mean the transposed b?)" : "");
  return record("matmul", multiply(left, right), {a, b}, {left, right},
                [transpose](const GradArgs& g) -> Grads {
                  const Tensor &x = g.saved[0], &y = g.saved[1];
                  Grads grads(2);
                  if (g.needs(0)) {
                    const Tensor dx = multiply(g.dy, exchanged(y));
                    grads[0] = transpose.a ? exchanged(dx) : dx;
                  }
                  if (g.needs(1)) {
                    const Tensor dy = right_gradient(x, y, g.dy);
                    grads[1] = transpose.b ? exchanged(dy) : dy;
                  }
                  return grads;
                });
}

namespace {

/// Column sums of [R, C] in `dtype`, rows added in a fixed order.
Tensor column_sums(const Tensor& x, DType dtype) {
  if (x.device().is_cuda()) return sum_to(x, {x.shape()[1]}).to(dtype);
  const Tensor sums = zeros({x.shape()[1]}, {detail::sum_dtype(x.dtype()), {}});
  cpu::column_sums({x.raw(), x.dtype(), x.shape()[0], x.shape()[1]}, sums.raw());
  return sums.to(dtype);
}

struct LinearDTypes {
  DType weight, bias;
};

/// The gradients of y = x w^T + b from dy [R, out]: products with the operands exchanged.
Grads linear_gradients(const GradArgs& g, const Tensor& dy, LinearDTypes dtypes) {
  const Tensor &x = g.saved[0], &weight = g.saved[1];
  Grads grads(3);
  if (g.needs(0)) grads[0] = with_shape(product(dy, weight, x.dtype()), x.shape());
  if (g.needs(1)) {
    const Tensor sum = g.accumulator(1);
    const Tensor dw = product(exchanged(dy), as_matrix(x), dtypes.weight, {.into = sum});
    if (!sum.defined()) grads[1] = dw;
  }
  if (g.needs(2)) grads[2] = column_sums(dy, dtypes.bias);
  return grads;
}

LinearDTypes dtypes_of(const Tensor& weight, const Tensor& bias) {
  return {weight.dtype(), bias.defined() ? bias.dtype() : DType::f32};
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& residual) {
  const Shape shape = detail::linear_shape("linear", x.shape(), weight, bias);
  detail::require_parameters("linear", x, weight, bias);
  detail::require_residual("linear", residual, shape, x);
  const Tensor w = compute_copy(weight, x.dtype()).detach();
  const DType dtype = residual.defined() ? residual.dtype() : x.dtype();
  const Tensor addend = residual.defined() ? residual.detach().contiguous() : residual;
  const Tensor y =
      product(as_matrix(x), exchanged(w), dtype, {.addend = addend, .bias = bias_as_used(bias)});
  return record("linear", with_shape(y, shape), {x, weight, bias, residual}, {x, w},
                [dtypes = dtypes_of(weight, bias)](const GradArgs& g) {
                  const Tensor dy = g.dy.to(g.saved[0].dtype());
                  Grads grads = linear_gradients(g, as_matrix(dy), dtypes);
                  grads.push_back(g.dy);
                  return grads;
                });
}

Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Shape shape = detail::linear_shape("linear_gelu", x.shape(), weight, bias);
  detail::require_parameters("linear_gelu", x, weight, bias);
  detail::require_cpu("linear_gelu", {x, weight, bias});
  const Tensor w = compute_copy(weight, x.dtype()).detach();
  const Tensor z = needs_tape({x, weight, bias}) ? empty(shape, x.options()) : Tensor();
  const Tensor y = product(as_matrix(x), exchanged(w), x.dtype(),
                           {.bias = bias_as_used(bias), .gelu = true, .pre_activation = z});
  return record("linear_gelu", with_shape(y, shape), {x, weight, bias}, {x, w, z},
                [dtypes = dtypes_of(weight, bias)](const GradArgs& g) {
                  const Tensor &dy = g.dy, &before = g.saved[2];
                  const Tensor dz = empty(dy.shape(), dy.options());
                  cpu::gelu_backward({before.raw(), dy.raw(), dz.raw(), dz.dtype(), dz.numel()});
                  return linear_gradients(g, as_matrix(dz), dtypes);
                });
}

Tensor compute_copy(const Tensor& parameter, DType dtype) {
  if (parameter.dtype() == dtype) return parameter;
  TensorImpl& impl = *parameter.impl();
  const bool usable = impl.compute_copy.defined() && impl.compute_copy.dtype() == dtype &&
                      impl.compute_copy_version == parameter.version();
  if (!usable) {
    impl.compute_copy = parameter.detach().to(dtype);
    impl.compute_copy_version = parameter.version();
  }
  return impl.compute_copy;
}

}  // namespace fovea::ops
