// Layer norm and RMS norm. The forward keeps the rstd of each row, and layer norm its mean; the
// derivative recomputes the normalised row from them.
#include "engine/autograd.h"
#include "ops/kernels.h"
#include "ops/norm.h"
#include "ops/norm/affine.h"
#include "ops/reduce.h"

namespace fovea::ops {
namespace {

constexpr std::int64_t kChunk = 64;  // rows per partial sum of the weight gradients

/// x [rows, width] off the tape and packed, weight, bias, and the statistics of each row. RMS norm
/// has neither bias nor mean.
struct Rows {
  Tensor x, weight, bias, mean, rstd;

  [[nodiscard]] bool centred() const { return mean.defined(); }
};

/// The pointer in a kernel call; null for an undefined tensor.
void* raw_or_null(const Tensor& t) { return t.defined() ? t.raw() : nullptr; }

Tensor normalise(const Rows& r, double eps) {
  const Tensor y = empty(r.x.shape(), r.x.options());
  const detail::RowSize size(r.x);
  kernels(y.device())
      .norm.layer_norm({.dtype = y.dtype(),
                        .centred = r.centred(),
                        .rows = size.rows,
                        .width = size.width,
                        .eps = eps,
                        .x = r.x.raw(),
                        .weight = r.weight.raw(),
                        .bias = raw_or_null(r.bias),
                        .y = y.raw(),
                        .mean = raw_or_null(r.mean),
                        .rstd = r.rstd.raw()});
  return y;
}

struct RowGrads {
  Tensor dx;       ///< shape of x
  Tensor daffine;  ///< [2, C]: gradients of weight and bias, in acc_t; [1, C] for RMS norm
};

/// Each chunk of rows has its own sums of dweight and dbias, which are then added in a fixed
/// order.
RowGrads differentiate(const Rows& r, const Tensor& dy) {
  const detail::RowSize size(r.x);
  const std::int64_t chunks = (size.rows + kChunk - 1) / kChunk;
  const Tensor dx = empty(r.x.shape(), r.x.options());
  const Tensor sums = zeros({chunks, r.centred() ? 2 : 1, size.width}, r.rstd.options());
  kernels(dx.device())
      .norm.layer_norm_grad({.dtype = dx.dtype(),
                             .centred = r.centred(),
                             .rows = size.rows,
                             .width = size.width,
                             .chunk = kChunk,
                             .x = r.x.raw(),
                             .dy = dy.raw(),
                             .weight = r.weight.raw(),
                             .mean = raw_or_null(r.mean),
                             .rstd = r.rstd.raw(),
                             .dx = dx.raw(),
                             .sums = sums.raw()});
  return {dx, sum(sums, {0})};
}

/// The number of channels C of x [..., C]. Throws unless x and weight fit.
std::int64_t require_rows(std::string_view op, const Tensor& x, const Tensor& weight) {
  detail::require_float(op, x);
  check(x.rank() >= 1, op, ": got a scalar, expected [..., C]");
  const std::int64_t C = x.shape()[-1];
  detail::require_affine(op, "weight", weight, C);
  return C;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const OpLabel op("layer_norm", {{"eps", eps}});
  detail::require_one_device(op, {x, weight, bias});
  const std::int64_t C = require_rows(op, x, weight);
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

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  const OpLabel op("rms_norm", {{"eps", eps}});
  detail::require_one_device(op, {x, weight});
  const std::int64_t C = require_rows(op, x, weight);

  const TensorOptions acc{acc_dtype(x.dtype()), x.device()};
  const Tensor rstd = empty({detail::RowSize(x).rows}, acc);
  const Rows r{detail::packed(x), detail::affine_or(weight, C, 1, acc), {}, {}, rstd};
  const DType weight_dtype = weight.defined() ? weight.dtype() : acc.dtype;
  return record(op, normalise(r, eps), {x, weight}, {r.x, r.weight, r.rstd},
                [C, weight_dtype](const GradArgs& g) -> Grads {
                  const Rows saved{g.saved[0], g.saved[1], {}, {}, g.saved[2]};
                  const auto [dx, dweight] = differentiate(saved, g.dy);
                  return {dx, dweight.alias({C}, {1}).to(weight_dtype)};
                });
}

}  // namespace fovea::ops
