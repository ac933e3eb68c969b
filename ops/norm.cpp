// Layer norm. The forward keeps mean and rstd of each row; the derivative computes the normalised
// row again from them. Formulas: ops/cpu/norm.cpp.
#include "ops/norm.h"

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/cpu/norm.h"
#include "ops/detail/affine.h"
#include "ops/reduce.h"

namespace fovea::ops {
namespace {

constexpr std::int64_t kChunk = 64;  // rows whose weight gradients are summed before the others'

struct LayerNormTensors {
  Tensor x, weight, bias, mean, rstd;
};

template <class T>
Tensor forward_rows(const LayerNormTensors& t, double eps) {
  using A = acc_t<T>;
  const Tensor y = empty(t.x.shape(), t.x.options());
  const detail::RowSize size(t.x);
  const T* const x = t.x.data<T>();
  T* const out = y.data<T>();
  A *const mean = t.mean.data<A>(), *const rstd = t.rstd.data<A>();
  const A *const weight = t.weight.data<A>(), *const bias = t.bias.data<A>();
  parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
    cpu::norm_kernels<T>().layer_norm({.x = x + begin * size.width,
                                       .weight = weight,
                                       .bias = bias,
                                       .y = out + begin * size.width,
                                       .mean = mean + begin,
                                       .rstd = rstd + begin,
                                       .rows = end - begin,
                                       .width = size.width,
                                       .eps = eps});
  });
  return y;
}

struct LayerNormGrads {
  Tensor dx;       ///< like x
  Tensor daffine;  ///< [2, C]: of weight and bias, in acc_t
};

/// Each chunk of rows has its own sums of dweight and dbias; they are then added in a fixed order.
template <class T>
LayerNormGrads backward_rows(const LayerNormTensors& t, const Tensor& dy) {
  using A = acc_t<T>;
  const detail::RowSize size(t.x);
  const std::int64_t chunks = (size.rows + kChunk - 1) / kChunk;
  const Tensor dx = empty(t.x.shape(), t.x.options());
  const Tensor partial = zeros({chunks, 2, size.width}, {dtype_of<A>, {}});
  const T *const x = t.x.data<T>(), *const upstream = dy.data<T>();
  const A *const mean = t.mean.data<A>(), *const rstd = t.rstd.data<A>();
  const A* const weight = t.weight.data<A>();
  A* const sums = partial.data<A>();
  T* const out = dx.data<T>();
  parallel_for(size.rows, kChunk, [&](std::int64_t begin, std::int64_t end) {
    A* const dweight = sums + begin / kChunk * 2 * size.width;
    cpu::norm_kernels<T>().layer_norm_grad({.x = x + begin * size.width,
                                            .dy = upstream + begin * size.width,
                                            .weight = weight,
                                            .mean = mean + begin,
                                            .rstd = rstd + begin,
                                            .dx = out + begin * size.width,
                                            .dweight = dweight,
                                            .dbias = dweight + size.width,
                                            .rows = end - begin,
                                            .width = size.width});
  });
  return {dx, sum(partial, {0})};
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  detail::require_cpu("layer_norm", {x, weight, bias});
  detail::require_float("layer_norm", x);
  check(x.rank() >= 1, "layer_norm: got a scalar, expected [..., C]");
  const std::int64_t C = x.shape()[-1];
  detail::require_affine("layer_norm", "weight", weight, C);
  detail::require_affine("layer_norm", "bias", bias, C);

  const DType acc = detail::acc_dtype(x.dtype());
  const std::int64_t rows = detail::RowSize(x).rows;
  const LayerNormTensors t{detail::packed(x), detail::affine_or(weight, C, 1, acc),
                           detail::affine_or(bias, C, 0, acc), empty({rows}, {acc, {}}),
                           empty({rows}, {acc, {}})};
  const Tensor y = dispatch_float(x.dtype(), "layer_norm",
                                  [&](auto tag) { return forward_rows<decltype(tag)>(t, eps); });
  const DType weight_dtype = weight.defined() ? weight.dtype() : acc;
  const DType bias_dtype = bias.defined() ? bias.dtype() : acc;
  return record("layer_norm", y, {x, weight, bias}, {t.x, t.weight, t.mean, t.rstd},
                [C, weight_dtype, bias_dtype](const GradArgs& g) -> Grads {
                  const LayerNormTensors saved{g.saved[0], g.saved[1], {}, g.saved[2], g.saved[3]};
                  const auto [dx, daffine] = dispatch_float(
                      g.dy.dtype(), "layer_norm",
                      [&](auto tag) { return backward_rows<decltype(tag)>(saved, g.dy); });
                  return {dx, daffine.alias({C}, {1}).to(weight_dtype),
                          daffine.alias({C}, {1}, C).to(bias_dtype)};
                });
}

}  // namespace fovea::ops
