// Layer norm and RMS norm. The forward keeps the rstd of each row, and layer norm its mean; the
// derivative recomputes the normalised row from them.
#include <algorithm>
#include <initializer_list>
#include <optional>

#include "engine/autograd.h"
#include "engine/kept_copy.h"
#include "engine/late_sums.h"
#include "ops/common/recomputed.h"
#include "ops/kernels.h"
#include "ops/norm.h"
#include "ops/norm/affine.h"
#include "ops/norm/call.h"
#include "ops/reduce.h"

namespace fovea::ops {
namespace {

/// Rows per partial sum of the weight gradients.
std::int64_t chunk_of(const Tensor& x) {
  constexpr std::int64_t kSummedAtOnce = 64;
  return fovea::sums_late(x.device()) ? rows_a_part(detail::RowSize(x).rows) : kSummedAtOnce;
}

/// x [rows, width] off the tape and packed, weight and bias [sets, width], and the statistics of
/// each row. RMS norm has neither bias nor mean.
struct Rows {
  Tensor x, weight, bias, mean, rstd;

  [[nodiscard]] bool centred() const { return mean.defined(); }
  /// Number of weights: 1, or one for each image.
  [[nodiscard]] std::int64_t sets() const { return weight.rank() == 2 ? weight.size(0) : 1; }
  /// Number of consecutive rows with the same weight.
  [[nodiscard]] std::int64_t shared() const {
    const std::int64_t rows = detail::RowSize(x).rows;
    return rows == 0 ? 1 : rows / sets();
  }
};

/// The pointer in a kernel call; null for an undefined tensor.
void* raw_or_null(const Tensor& t) { return t.defined() ? t.raw() : nullptr; }

/// Without eps, the statistics are known; otherwise they are computed.
Tensor normalise(const Rows& r, DType dtype, std::optional<double> eps) {
  const Tensor y = empty(r.x.shape(), {dtype, r.x.device()});
  const detail::RowSize size(r.x);
  kernels(y.device())
      .norm.layer_norm({.dtype = r.x.dtype(),
                        .y_dtype = dtype,
                        .centred = r.centred(),
                        .knows_statistics = !eps,
                        .rows = size.rows,
                        .width = size.width,
                        .shared = r.shared(),
                        .eps = eps.value_or(0),
                        .x = r.x.raw(),
                        .weight = r.weight.raw(),
                        .bias = raw_or_null(r.bias),
                        .y = y.raw(),
                        .mean = raw_or_null(r.mean),
                        .rstd = r.rstd.raw()});
  return y;
}

struct RowGrads {
  Tensor dx;              ///< shape of x; undefined if it was added to the sum so far
  Tensor dweight, dbias;  ///< shape of the weight, in acc_t; RMS norm has no dbias
};

/// Sum `index` of each chunk, of the sums [sets, chunks, sums a column, columns].
Tensor parts_of_chunks(const Tensor& partial, std::int64_t index) {
  const std::int64_t columns = partial.size(3);
  return partial.alias({partial.size(1), columns}, {partial.strides()[1], 1}, index * columns);
}

/// The gradients of weight and bias from the same sums.
RowGrads sums_of_chunks(const Rows& r, const Tensor& partial, bool late) {
  const std::int64_t columns = partial.size(3), width = partial.strides()[1];
  const Tensor sums = late ? Tensor() : sum(partial, {1});
  const auto parameter = [&](std::int64_t index) {
    if (late) return late_sum(parts_of_chunks(partial, index));
    const Strides strides = r.weight.rank() == 2 ? Strides{width, 1} : Strides{1};
    return sums.alias(r.weight.shape(), strides, index * columns).contiguous();
  };
  return {{}, parameter(0), r.centred() ? parameter(1) : Tensor()};
}

/// Whether the sums of the chunks may come at the end of the walk. They are in acc_t.
bool sums_late(const Rows& r, std::initializer_list<DType> parameters) {
  const DType acc = r.rstd.dtype();
  return fovea::sums_late(r.x.device()) && r.weight.rank() == 1 && r.x.numel() > 0 &&
         std::ranges::all_of(parameters, [acc](DType dtype) { return dtype == acc; });
}

/// What the derivative of x can be added to in the pass that computes it: on a GPU, where sums are
/// late too.
Tensor sum_to_add_to(const GradArgs& g, const Tensor& x) {
  if (!fovea::sums_late(x.device())) return {};
  const Tensor sum = g.sum_so_far(0);
  const bool fits = sum.defined() && sum.dtype() == x.dtype() && sum.shape() == x.shape();
  return fits ? sum : Tensor();
}

/// Each chunk of rows has its own sums of dweight and dbias, which are then added in a fixed
/// order; `parameters` are their dtypes.
RowGrads differentiate(const Rows& r, const GradArgs& g, std::initializer_list<DType> parameters) {
  const detail::RowSize size(r.x);
  const Tensor& dy = g.dy;
  const Tensor sum = sum_to_add_to(g, r.x);
  const Tensor dx = sum.defined() ? sum : empty(r.x.shape(), r.x.options());
  // The branch before this one multiplies its gradient, the sum, in dy's dtype.
  const bool copies = sum.defined() && dy.dtype() == DType::bf16 && dx.dtype() == DType::f32;
  const Tensor copy = copies ? empty(dx.shape(), dy.options()) : Tensor();
  LayerNormGradCall call{.dtype = dx.dtype(),
                         .y_dtype = dy.dtype(),
                         .centred = r.centred(),
                         .rows = size.rows,
                         .width = size.width,
                         .shared = r.shared(),
                         .chunk = chunk_of(r.x),
                         .x = r.x.raw(),
                         .dy = dy.raw(),
                         .weight = r.weight.raw(),
                         .mean = raw_or_null(r.mean),
                         .rstd = r.rstd.raw(),
                         .dx = dx.raw(),
                         .adds = sum.defined(),
                         .copy = copies ? reinterpret_cast<bf16*>(copy.raw()) : nullptr};
  const bool late = sums_late(r, parameters);
  call.sums_dx = late;
  const Shape chunks{r.sets(), call.chunks() / std::max<std::int64_t>(r.sets(), 1),
                     call.sums_a_column(), size.width};
  const Tensor partial = late ? empty(chunks, r.rstd.options()) : zeros(chunks, r.rstd.options());
  call.sums = partial.raw();
  kernels(dx.device()).norm.layer_norm_grad(call);
  RowGrads grads = sums_of_chunks(r, partial, late);
  if (!sum.defined()) {
    grads.dx = dx;
  } else {
    sum.bump_version();
    if (copies) keep_copy(sum, copy);
  }
  if (late) keep_parts(dx, parts_of_chunks(partial, call.parameters()));
  return grads;
}

void require_rows(std::string_view op, const Tensor& x) {
  detail::require_float(op, x);
  check(x.rank() >= 1, op, ": got a scalar, expected [..., C]");
}

/// The shape of weight and bias: [C], or [B, C] for x [B, ..., C]. Throws unless both have it.
Shape affine_shape(std::string_view op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const std::int64_t C = x.shape()[-1];
  const auto per_image = [&](const Tensor& t) {
    return t.defined() && x.rank() >= 2 && t.shape() == Shape{x.size(0), C};
  };
  if (!per_image(weight) && !per_image(bias)) {
    detail::require_affine(op, "weight", weight, C);
    detail::require_affine(op, "bias", bias, C);
    return {C};
  }
  for (const Tensor& t : {weight, bias}) {
    if (!t.defined()) continue;
    detail::require_float(op, t);
    check(per_image(t), op, ": got x ", x.shape(), " with a weight or bias ", t.shape(),
          " beside the other for each image, expected both [", x.size(0), ", ", C, "]");
  }
  return {x.size(0), C};
}

/// What the kernel writes: bf16 for f32 rows if asked, else x's dtype.
DType written_dtype(const Tensor& x, const RowNormOptions& o) {
  return x.dtype() == DType::f32 && o.dtype == DType::bf16 ? DType::bf16 : x.dtype();
}

/// Derivatives that read y [..., C], the recorded result, normalise the rows again, unless the
/// device keeps it.
Tensor normalised_again(const Tensor& y, const Rows& r) {
  if (kernels(y.device()).norm.keeps_results) return y;
  return detail::recomputed_in_bf16(y, {r.x, r.weight, r.bias, r.mean, r.rstd},
                                    [](std::span<const Tensor> from) {
                                      const Rows rows{from[0], from[1], from[2], from[3], from[4]};
                                      return normalise(rows, DType::bf16, {});
                                    });
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  RowNormOptions options) {
  const OpLabel op("layer_norm", {{"eps", options.eps}});
  detail::require_one_device(op, {x, weight, bias});
  require_rows(op, x);
  const Shape shape = affine_shape(op, x, weight, bias);

  const TensorOptions acc{acc_dtype(x.dtype()), x.device()};
  const std::int64_t rows = detail::RowSize(x).rows;
  const Rows r{detail::detached_contiguous(x), detail::affine_or(weight, shape, 1, acc),
               detail::affine_or(bias, shape, 0, acc), empty({rows}, acc), empty({rows}, acc)};
  const DType weight_dtype = weight.defined() ? weight.dtype() : acc.dtype;
  const DType bias_dtype = bias.defined() ? bias.dtype() : acc.dtype;
  const Tensor y = record(
      op, normalise(r, written_dtype(x, options), options.eps), {x, weight, bias},
      {r.x, r.weight, r.mean, r.rstd}, [weight_dtype, bias_dtype](const GradArgs& g) -> Grads {
        const Rows saved{g.saved[0], g.saved[1], {}, g.saved[2], g.saved[3]};
        const auto [dx, dweight, dbias] = differentiate(saved, g, {weight_dtype, bias_dtype});
        return {dx, dweight.to(weight_dtype), dbias.to(bias_dtype)};
      });
  return normalised_again(y, r).to(options.dtype.value_or(x.dtype()));
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, RowNormOptions options) {
  const OpLabel op("rms_norm", {{"eps", options.eps}});
  detail::require_one_device(op, {x, weight});
  require_rows(op, x);
  const std::int64_t C = x.shape()[-1];
  detail::require_affine(op, "weight", weight, C);

  const TensorOptions acc{acc_dtype(x.dtype()), x.device()};
  const Tensor rstd = empty({detail::RowSize(x).rows}, acc);
  const Rows r{
      detail::detached_contiguous(x), detail::affine_or(weight, {C}, 1, acc), {}, {}, rstd};
  const DType weight_dtype = weight.defined() ? weight.dtype() : acc.dtype;
  const Tensor y = record(op, normalise(r, written_dtype(x, options), options.eps), {x, weight},
                          {r.x, r.weight, r.rstd}, [weight_dtype](const GradArgs& g) -> Grads {
                            const Rows saved{g.saved[0], g.saved[1], {}, {}, g.saved[2]};
                            const RowGrads grads = differentiate(saved, g, {weight_dtype});
                            return {grads.dx, grads.dweight.to(weight_dtype)};
                          });
  return normalised_again(y, r).to(options.dtype.value_or(x.dtype()));
}

}  // namespace fovea::ops
