// Sums, means, variances and maxima over any axes.
#include "ops/reduce.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/common/rows.h"
#include "ops/elementwise/map.h"
#include "ops/kernels.h"
#include "ops/reduce/call.h"

namespace fovea::ops {
namespace {

/// The reduced axes and the resulting shapes.
struct Reduction {
  bool reduced[Shape::kMaxRank] = {};
  Shape kept;              ///< shape with size 1 on reduced axes
  Shape result;            ///< kept, or without the reduced axes
  std::int64_t count = 1;  ///< elements per sum

  /// Adds the arguments of the reduction as attributes to `op`.
  Reduction(OpLabel& op, const Shape& shape, Axes axes, bool keepdim) : kept(shape) {
    for (const int axis : axes) {
      bool& seen = reduced[normalize_axis(op, axis, shape.rank())];
      check(!seen, op, ": axis ", axis, " is listed twice");
      seen = true;
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axes.size() == 0) reduced[axis] = true;
      if (reduced[axis]) {
        count *= shape[axis];
        kept[axis] = 1;
      }
      if (keepdim || !reduced[axis]) result.push_back(kept[axis]);
    }
    op.set({{"axes", axes_of(shape.rank())}, {"keepdim", keepdim}});
  }

 private:
  [[nodiscard]] Shape axes_of(int rank) const {
    Shape axes;
    for (int axis = 0; axis < rank; ++axis) {
      if (reduced[axis]) axes.push_back(axis);
    }
    return axes;
  }
};

/// [outer, n, inner], contiguous, to be reduced over n.
struct ReducedExtents {
  std::int64_t outer = 1, n = 1, inner = 1;
};

/// One round: [outer, runs, inner] in acc_t, each element the result of one run.
Tensor reduce_runs(const Tensor& x, const ReducedExtents& b, const Kernel<PartialsCall>& partials) {
  const auto& reduce = kernels(x.device()).reduce;
  const std::int64_t run = b.inner == 1 ? reduce.runs.along_rows : reduce.runs.down_columns;
  const std::int64_t runs = std::max<std::int64_t>(1, (b.n + run - 1) / run);
  const Tensor results = empty({b.outer, runs, b.inner}, {acc_dtype(x.dtype()), x.device()});
  partials({x.dtype(), b.outer, b.n, b.inner, run, runs, x.raw(), results.raw()});
  return results;
}

/// Reduces x over the middle axis of `block`, in rounds; the result is in acc_t.
Tensor reduce_middle(Tensor x, ReducedExtents block, const Kernel<PartialsCall>& partials) {
  do {
    x = reduce_runs(x, block, partials);
    block.n = x.size(1);
  } while (block.n > 1);
  return x;
}

/// The results in acc_t with shape `reduction.kept`. Adjacent reduced axes are reduced together,
/// starting with the last ones.
Tensor reduced_values(const Tensor& x, const Reduction& reduction,
                      const Kernel<PartialsCall>& partials) {
  Tensor results = detail::detached_contiguous(x);
  std::int64_t inner = 1;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    if (!reduction.reduced[axis]) {
      inner *= x.shape()[axis];
      continue;
    }
    ReducedExtents block{1, x.shape()[axis], inner};
    while (axis > 0 && reduction.reduced[axis - 1]) block.n *= x.shape()[--axis];
    for (int i = 0; i < axis; ++i) block.outer *= x.shape()[i];
    results = reduce_middle(results, block, partials);
  }
  if (results.dtype() == DType::bf16) results = results.to(DType::f32);  // nothing was reduced
  return results.alias(reduction.kept, contiguous_strides(reduction.kept));
}

Tensor sum_values(const Tensor& x, const Reduction& reduction) {
  return reduced_values(x, reduction, kernels(x.device()).reduce.partial_sums);
}

/// dy of shape `result` expanded to the shape of x along the reduced axes.
Tensor spread(const Tensor& dy, const Reduction& reduction, const Shape& shape) {
  const Strides strides = contiguous_strides(reduction.kept);
  return dy.alias(shape, broadcast_strides(reduction.kept, strides, shape));
}

/// The mean over `reduction`, in acc_t, with kept axes.
Tensor mean_values(const Tensor& x, const Reduction& reduction) {
  return div(sum_values(x, reduction), static_cast<double>(reduction.count));
}

/// x - mean(x) in acc_t. The residual mean that rounding leaves is subtracted too: for data far
/// from zero it is as large as the digits of the differences (Chan, Golub, LeVeque: corrected
/// two-pass algorithm).
struct Centre {
  Tensor mean, rest;

  Centre(const Tensor& x, const Reduction& reduction) : mean(mean_values(x, reduction)) {
    rest = mean_values(sub(x, mean), reduction);
  }
  Centre(Tensor saved_mean, Tensor saved_rest)
      : mean(std::move(saved_mean)), rest(std::move(saved_rest)) {}

  [[nodiscard]] Tensor deviation(const Tensor& x) const { return sub(sub(x, mean), rest); }
};

/// Converts `values`, computed in acc_t with kept axes, to the op's result.
Tensor finished(const Tensor& values, const Reduction& reduction, DType dtype) {
  return values.alias(reduction.result, contiguous_strides(reduction.result)).to(dtype);
}

/// Throws unless every reduced axis of x has elements.
void require_elements(std::string_view op, const Tensor& x, const Reduction& reduction) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    check(!reduction.reduced[axis] || x.shape()[axis] > 0, op, ": axis ", axis, " of shape ",
          x.shape(), " is empty, expected at least one element");
  }
}

void require_input(std::string_view op, const Tensor& x) { detail::require_float(op, x); }

}  // namespace

Tensor sum(const Tensor& x, Axes axes, bool keepdim) {
  OpLabel op("sum");
  require_input(op, x);
  const Reduction reduction(op, x.shape(), axes, keepdim);
  return record(op, finished(sum_values(x, reduction), reduction, x.dtype()), {x}, {},
                [reduction, shape = x.shape()](const GradArgs& g) -> Grads {
                  return {spread(g.dy, reduction, shape)};
                });
}

Tensor mean(const Tensor& x, Axes axes, bool keepdim) {
  OpLabel op("mean");
  require_input(op, x);
  const Reduction reduction(op, x.shape(), axes, keepdim);
  return record(op, finished(mean_values(x, reduction), reduction, x.dtype()), {x}, {},
                [reduction, shape = x.shape()](const GradArgs& g) -> Grads {
                  const Tensor share = div(g.dy, static_cast<double>(reduction.count));
                  return {spread(share, reduction, shape)};
                });
}

Tensor var(const Tensor& x, Axes axes, double correction, bool keepdim) {
  OpLabel op("var");
  require_input(op, x);
  const Reduction reduction(op, x.shape(), axes, keepdim);
  op.set({"correction", correction});
  const double n = std::max(0.0, static_cast<double>(reduction.count) - correction);
  const Centre centre(x.detach(), reduction);
  const Tensor deviation = centre.deviation(x.detach());
  const Tensor variance = div(sum_values(mul(deviation, deviation), reduction), n);
  return record(op, finished(variance, reduction, x.dtype()), {x}, {x, centre.mean, centre.rest},
                [reduction, n](const GradArgs& g) -> Grads {  // dx = 2 (x - mean) dy / n
                  const Tensor dy = spread(g.dy, reduction, g.saved[0].shape());
                  const Centre saved(g.saved[1], g.saved[2]);
                  const Tensor slope = div(saved.deviation(g.saved[0]), n / 2);
                  return {mul(slope, dy).to(g.dy.dtype())};
                });
}

Tensor amax(const Tensor& x, Axes axes, bool keepdim) {
  OpLabel op("amax");
  require_input(op, x);
  const Reduction reduction(op, x.shape(), axes, keepdim);
  require_elements(op, x, reduction);
  const Tensor maxima =
      reduced_values(x, reduction, kernels(x.device()).reduce.partial_maxima).to(x.dtype());
  return record(op, finished(maxima, reduction, x.dtype()), {x}, {x, maxima},
                [reduction](const GradArgs& g) -> Grads {  // dx = dy / count where x is a maximum
                  const Tensor is_max = empty(g.saved[0].shape(), g.dy.options());
                  detail::map_into(is_max, detail::Equal{}, g.saved[0], g.saved[1]);
                  const Tensor count = sum_values(is_max, reduction);
                  const Tensor dy = g.dy.alias(reduction.kept, contiguous_strides(reduction.kept));
                  const Tensor dx = empty(is_max.shape(), is_max.options());
                  detail::map_into(dx, detail::Mul{}, is_max, div(dy, count));
                  return {dx};
                });
}

}  // namespace fovea::ops
