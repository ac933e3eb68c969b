// Layer norm. The forward keeps the mean and rstd of each row; the derivative recomputes the
// normalised row from them.
#include "engine/autograd.h"
#include "ops/kernels.h"
#include "ops/norm.h"
#include "ops/norm/affine.h"
#include "ops/reduce.h"

namespace fovea::ops {
namespace {

constexpr std::int64_t kChunk = 64;  // rows per partial sum of the weight gradients

/// x [rows, width] off the tape and packed, weight, bias, and the statistics of each row.
struct Rows {
  Tensor x, weight, bias, mean, rstd;
};

Tensor normalise(const Rows& r, double eps) {
  const Tensor y = empty(r.x.shape(), r.x.options());
  const detail::RowSize size(r.x);
  kernels(y.device())
      .norm.layer_norm({.dtype = y.dtype(),
                        .rows = size.rows,
                        .width = size.width,
                        .eps = eps,
                        .x = r.x.raw(),
                        .weight = r.weight.raw(),
                        .bias = r.bias.raw(),
                        .y = y.raw(),
                        .mean = r.mean.raw(),
                        .rstd = r.rstd.raw()});
  return y;
}

struct LayerNormGrads {
  Tensor dx;       ///< shape of x
  Tensor daffine;  ///< [2, C]: gradients of weight and bias, in acc_t
};

/// Each chunk of rows has its own sums of dweight and dbias, which are then added in a fixed
/// order.
LayerNormGrads differentiate(const Rows& r, const Tensor& dy) {
  const detail::RowSize size(r.x);
  const std::int64_t chunks = (size.rows + kChunk - 1) / kChunk;
  const Tensor dx = empty(r.x.shape(), r.x.options());
  const Tensor sums = zeros({chunks, 2, size.width}, r.mean.options());
  kernels(dx.device())
      .norm.layer_norm_grad({.dtype = dx.dtype(),
                             .rows = size.rows,
                             .width = size.width,
                             .chunk = kChunk,
                             .x = r.x.raw(),
                             .dy = dy.raw(),
                             .weight = r.weight.raw(),
                             .mean = r.mean.raw(),
                             .rstd = r.rstd.raw(),
                             .dx = dx.raw(),
                             .sums = sums.raw()});
  return {dx, sum(sums, {0})};
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const OpLabel op("layer_norm", {{"eps", eps}});
  detail::require_one_device(op, {x, weight, bias});
  detail::require_float(op, x);
  check(x.rank() >= 1, "layer_norm: got a scalar, expected [..., C]");
  const std::int64_t C = x.shape()[-1];
  detail::require_affine(op, "weight", weight, C);
  detail::require_affine(op, "bias", bias, C);

  const TensorOptions acc{acc_dtype(x.dtype()), x.device()};
  const std::int64_t rows = detail::RowSize(x).rows;
  const Rows r{detail::packed(x), detail::affine_or(weight, C, 1, acc),
               detail::affine_or(bias, C, 0, acc), empty({rows}, acc), empty({rows}, acc)};
  const DType weight_dtype = weight.defined() ? weight.dtype() : acc.dtype;
  const DType bias_dtype = bias.defined() ? bias.dtype() : acc.dtype;
  return record(op, normalise(r, eps), {x, weight, bias}, {r.x, r.weight, r.mean, r.rstd},
                [C, weight_dtype, bias_dtype](const GradArgs& g) -> Grads {
                  const Rows saved{g.saved[0], g.saved[1], {}, g.saved[2], g.saved[3]};
                  const auto [dx, daffine] = differentiate(saved, g.dy);
                  return {dx, daffine.alias({C}, {1}).to(weight_dtype),
                          daffine.alias({C}, {1}, C).to(bias_dtype)};
                });
}

}  // namespace fovea::ops
