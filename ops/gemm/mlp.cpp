// The MLP: two ops on the tape, or a pair of fused GEMMs off it.
#include "ops/mlp.h"

#include "engine/autograd.h"
#include "ops/common/checks.h"
#include "ops/common/parameters.h"
#include "ops/gemm/call.h"
#include "ops/gemm/gemm.h"
#include "ops/kernels.h"
#include "ops/matmul.h"

namespace fovea::ops {
namespace {

constexpr std::int64_t kMinRows = 1024;        // fewer cannot occupy the threads
constexpr std::int64_t kMaxWeights = 1 << 23;  // largest weights worth packing whole

bool in_one_pass(const Tensor& x, const MlpWeights& w, const Tensor& residual) {
  return kernels(x.device()).gemm.multiply_pair && x.dtype() != DType::f64 &&
         x.numel() >= kMinRows * x.size(-1) && w.fc2.numel() > 0 && x.size(-1) > 0 &&
         w.fc1.numel() + w.fc2.numel() <= kMaxWeights &&
         !needs_tape({x, w.fc1, w.bias1, w.fc2, w.bias2, residual});
}

/// The GEMM of one layer, without the rows A and C.
GemmCall layer(std::int64_t rows, const Tensor& weight, const detail::BiasAsUsed& bias) {
  GemmCall call;
  call.m = rows;
  call.n = weight.size(0);
  call.k = weight.size(1);
  call.b = {weight.raw(), weight.dtype(), weight.strides()[1], weight.strides()[0], {}};
  bias.give(call);
  return call;
}

}  // namespace

Tensor mlp(const Tensor& x, const MlpWeights& w, const Tensor& residual, GeluForm form) {
  const Shape hidden = detail::linear_shape("mlp", x.shape(), w.fc1, w.bias1);
  const Shape shape = detail::linear_shape("mlp", hidden, w.fc2, w.bias2);
  detail::require_one_device("mlp", {x, w.fc1, w.bias1, w.fc2, w.bias2, residual});
  detail::require_parameters("mlp", x, w.fc1, w.bias1);
  detail::require_parameters("mlp", x, w.fc2, w.bias2);
  detail::require_residual("mlp", residual, shape, x);
  if (!in_one_pass(x, w, residual)) {
    return linear(linear_gelu(x, w.fc1, w.bias1, form), w.fc2, w.bias2, residual);
  }
  const bool is_erf = form == GeluForm::erf;
  OpLabel op("mlp", {{"form", is_erf ? "erf" : "tanh"}});
  const Tensor rows = detail::as_matrix(x);
  const Tensor fc1 = compute_copy(w.fc1, x.dtype()), fc2 = compute_copy(w.fc2, x.dtype());
  const Tensor addend = residual.defined() ? residual.contiguous() : residual;
  const Tensor y = empty(shape, addend.defined() ? addend.options() : x.options());
  const detail::BiasAsUsed bias1(w.bias1, x.dtype()), bias2(w.bias2, y.dtype());

  GemmCall first = layer(rows.size(0), fc1, bias1), second = layer(rows.size(0), fc2, bias2);
  first.a = {rows.raw(), rows.dtype(), rows.strides()[0], rows.strides()[1], {}};
  first.c.dtype = x.dtype();
  first.activation = is_erf ? GemmActivation::gelu : GemmActivation::gelu_tanh;
  second.c = {y.raw(), y.dtype(), second.n, {}};
  if (addend.defined()) second.addend = addend.raw();
  kernels(x.device()).gemm.multiply_pair({first, second});
  op.multiply_adds = hidden.numel() * (x.size(-1) + shape[-1]);
  return record_constant(op, y, {x, w.fc1, w.bias1, w.fc2, w.bias2, residual});
}

}  // namespace fovea::ops
