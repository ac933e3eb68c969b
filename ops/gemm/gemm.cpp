// Builds the GEMM call from tensors.
#include "ops/gemm/gemm.h"

#include <utility>

#include "engine/late_sums.h"
#include "ops/common/checks.h"
#include "ops/common/parameters.h"
#include "ops/gemm/call.h"
#include "ops/kernels.h"
#include "ops/reduce/call.h"

namespace fovea::ops::detail {
namespace {

Shape leading(const Shape& shape) {
  return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.rank() - 2)));
}

/// Sets the batch strides of an operand, right-aligned to the call's batch axes.
void set_batch(std::int64_t (&to)[kGemmBatchAxes], const Strides& strides) {
  for (int axis = 0; axis < strides.rank(); ++axis) {
    to[kGemmBatchAxes - strides.rank() + axis] = strides[axis];
  }
}

GemmOperand operand(const Tensor& x, const Shape& batch) {
  GemmOperand result{x.raw(), x.dtype(), x.strides()[-2], x.strides()[-1], {}};
  set_batch(result.batch, broadcast_strides(leading(x.shape()), leading(x.strides()), batch));
  return result;
}

}  // namespace

BiasAsUsed::BiasAsUsed(const Tensor& bias, DType result) {
  if (!bias.defined()) return;
  const bool narrow = result == DType::bf16 && kernels(bias.device()).gemm.takes_bf16_bias;
  bias_ = narrow ? bias.cached_to(DType::bf16).contiguous() : bias_as_used(bias);
}

void BiasAsUsed::give(GemmCall& call) const {
  if (!bias_.defined()) return;
  call.bias_kind = GemmBias::per_column;
  call.bias = bias_.raw();
  call.bias_is_bf16 = bias_.dtype() == DType::bf16;
}

Tensor gemm(const Tensor& a, const Tensor& b, DType dtype, const GemmEpilogue& end) {
  check(a.device() == b.device(), "matmul: operands on ", a.device(), " and ", b.device(),
        ", expected one device");
  const Shape batch = broadcast("matmul", leading(a.shape()), leading(b.shape()));
  Shape shape = batch;
  shape.push_back(a.shape()[-2]);
  shape.push_back(b.shape()[-1]);
  const Tensor out = end.into.defined() ? end.into : empty(shape, {dtype, a.device()});
  if (out.numel() == 0) return out;

  GemmCall call;
  call.m = shape[-2];
  call.n = shape[-1];
  call.k = a.shape()[-1];
  set_batch(call.batch, batch);
  call.a = operand(a, batch);
  call.b = operand(b, batch);
  call.c = {out.raw(), out.dtype(), call.n, {}};
  set_batch(call.c.batch, leading(contiguous_strides(shape)));
  if (end.into.defined()) call.addend = out.raw();
  if (end.addend.defined()) call.addend = end.addend.raw();
  const BiasAsUsed bias(end.bias, out.dtype());
  bias.give(call);
  call.activation = end.activation;
  if (end.pre_activation.defined()) call.pre_activation = end.pre_activation.raw();
  kernels(out.device()).gemm.multiply(call);
  if (end.into.defined()) out.bump_version();
  return out;
}

Tensor column_sums(const Tensor& x, DType dtype) {
  if (dtype == acc_dtype(x.dtype()) && sums_late(x.device()) && x.numel() > 0) {
    const std::int64_t rows = x.size(0), run = rows_a_part(rows), runs = (rows + run - 1) / run;
    const Tensor parts = empty({runs, x.size(1)}, {dtype, x.device()});
    kernels(x.device())
        .reduce.partial_sums({x.dtype(), 1, rows, x.size(1), run, runs, x.raw(), parts.raw()});
    return late_sum(parts);
  }
  const Tensor sums = empty({x.size(1)}, {acc_dtype(x.dtype()), x.device()});
  kernels(x.device()).gemm.column_sums({x.dtype(), x.size(0), x.size(1), x.raw(), sums.raw()});
  return sums.to(dtype);
}

Tensor transposed(const Tensor& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[-1], shape[-2]);
  std::swap(strides[-1], strides[-2]);
  return x.alias(shape, strides);
}

Tensor as_matrix(const Tensor& x) {
  if (x.rank() == 2) return x.detach();
  std::int64_t rows = 1, step = 0;  // of the rows, from the innermost axis outwards
  bool even = true;
  for (int axis = x.rank() - 2; axis >= 0; --axis) {
    if (x.shape()[axis] == 1) continue;
    if (rows == 1) step = x.strides()[axis];
    even = even && x.strides()[axis] == rows * step;
    rows *= x.shape()[axis];
  }
  const Shape shape{rows, x.shape()[-1]};
  if (!even || rows == 1) return with_shape(x.detach().contiguous(), shape);
  return x.detach().alias(shape, {step, x.strides()[-1]});
}

Tensor with_shape(const Tensor& x, const Shape& shape) {
  return x.alias(shape, contiguous_strides(shape));
}

}  // namespace fovea::ops::detail
