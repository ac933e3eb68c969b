// Sums, means and variances over any axes, and l1_normalize. Maxima and sorting: ops/order.cpp.
#include "ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/arithmetic.h"
#include "ops/cpu/reduce.h"
#include "ops/detail/rows.h"

namespace fovea::ops {
namespace {

/// Which axes go, and the shapes that follow.
struct Reduction {
  bool reduced[Shape::kMaxRank] = {};
  Shape kept;              ///< with size 1 where reduced
  Shape result;            ///< kept, or without those axes
  std::int64_t count = 1;  ///< elements per sum

  Reduction(std::string_view op, const Shape& shape, Axes axes, bool keepdim) : kept(shape) {
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
  }
};

/// [outer, n, inner], contiguous, to be summed over n.
struct Block {
  std::int64_t outer = 1, n = 1, inner = 1;
};

/// One round of summing x over n in runs of at most kRun: [outer, runs, inner] in acc_t.
template <class T>
struct PartialSums {
  static constexpr std::int64_t kColumns = 1 << 10;  // of a sum that stays in the L1 cache
  Block block;
  std::int64_t run = 0, runs = 0;

  explicit PartialSums(const Block& b)
      : block(b),
        run(b.inner == 1 ? 1 << 14 : 1 << 8),
        runs(std::max<std::int64_t>(1, (b.n + run - 1) / run)) {}

  Tensor operator()(const Tensor& x) const {
    using A = acc_t<T>;
    const Tensor sums = empty({block.outer, runs, block.inner}, {dtype_of<A>, {}});
    const T* const from = x.data<T>();
    A* const to = sums.data<A>();
    const std::int64_t strips = (block.inner + kColumns - 1) / kColumns;
    const std::int64_t work = std::min(run, block.n) * std::min(block.inner, kColumns);
    const std::int64_t grain = (1 << 14) / std::max<std::int64_t>(work, 1) + 1;
    parallel_for(block.outer * runs * strips, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        sum_strip(from, to, task / strips, task % strips * kColumns);
      }
    });
    return sums;
  }

 private:
  /// Columns [first, first + kColumns) of one run.
  void sum_strip(const T* x, acc_t<T>* sums, std::int64_t index, std::int64_t first) const {
    const std::int64_t start = index % runs * run, rows = std::min(run, block.n - start);
    const T* const at = x + (index / runs * block.n + start) * block.inner + first;
    acc_t<T>* const to = sums + index * block.inner + first;
    if (block.inner == 1) {
      *to = cpu::reduce_kernels<T>().sum(at, rows);
      return;
    }
    cpu::reduce_kernels<T>().column_sums({.x = at,
                                          .rows = rows,
                                          .width = std::min(kColumns, block.inner - first),
                                          .stride = block.inner,
                                          .sums = to});
  }
};

/// Sums x over the middle of `block`, in rounds; the result has acc_t.
Tensor sum_middle(Tensor x, Block block) {
  do {
    x = dispatch_float(x.dtype(), "sum", [&](auto tag) {
      const PartialSums<decltype(tag)> round(block);
      block.n = round.runs;
      return round(x);
    });
  } while (block.n > 1);
  return x;
}

/// The sums in acc_t, with `reduction.kept` as shape. Neighbouring reduced axes go at once, the
/// last ones first.
Tensor sum_values(const Tensor& x, const Reduction& reduction) {
  Tensor sums = detail::packed(x);
  std::int64_t inner = 1;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    if (!reduction.reduced[axis]) {
      inner *= x.shape()[axis];
      continue;
    }
    Block block{1, x.shape()[axis], inner};
    while (axis > 0 && reduction.reduced[axis - 1]) block.n *= x.shape()[--axis];
    for (int i = 0; i < axis; ++i) block.outer *= x.shape()[i];
    sums = sum_middle(sums, block);
  }
  if (sums.dtype() == DType::bf16) sums = sums.to(DType::f32);  // nothing was reduced
  return sums.alias(reduction.kept, contiguous_strides(reduction.kept));
}

/// dy of shape `result` read as x's shape, repeated along the reduced axes.
Tensor spread(const Tensor& dy, const Reduction& reduction, const Shape& shape) {
  const Strides strides = contiguous_strides(reduction.kept);
  return dy.alias(shape, broadcast_strides(reduction.kept, strides, shape));
}

/// The mean over `reduction`, in acc_t, with kept axes.
Tensor mean_values(const Tensor& x, const Reduction& reduction) {
  return mul(sum_values(x, reduction), 1 / static_cast<double>(reduction.count));
}

/// `values`, computed in acc_t with kept axes, as the op's result.
Tensor finished(const Tensor& values, const Reduction& reduction, DType dtype) {
  return values.alias(reduction.result, contiguous_strides(reduction.result)).to(dtype);
}

void require_input(std::string_view op, const Tensor& x) {
  detail::require_cpu(op, {x});
  detail::require_float(op, x);
}

/// sum |x| of a row.
template <class T>
double absolute_sum(const T* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::abs(static_cast<double>(x[i]));
  return sum;
}

template <class T>
Tensor l1_forward(const Tensor& x, double eps) {
  const Tensor y = empty(x.shape(), x.options());
  const detail::RowSize size(x);
  const T* const from = x.data<T>();
  T* const to = y.data<T>();
  parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* const row = from + i * size.width;
      const double scale = 1 / std::max(absolute_sum(row, size.width), eps);
      for (std::int64_t j = 0; j < size.width; ++j) {
        to[i * size.width + j] = static_cast<T>(static_cast<double>(row[j]) * scale);
      }
    }
  });
  return y;
}

/// With s = sum |x| and y = x / s:  dx = (dy - sign(x) sum dy y) / s;  where s < eps, dx = dy /
/// eps.
template <class T>
Tensor l1_backward(const Tensor& x, const Tensor& dy, double eps) {
  const Tensor dx = empty(x.shape(), x.options());
  const detail::RowSize size(x);
  const T *const from = x.data<T>(), *const upstream = dy.data<T>();
  T* const to = dx.data<T>();
  parallel_for(size.rows, size.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * size.width; i < end * size.width; i += size.width) {
      const double sum = absolute_sum(from + i, size.width);
      double dot = 0;  // sum dy y
      for (std::int64_t j = i; j < i + size.width && sum >= eps; ++j) {
        dot += static_cast<double>(upstream[j]) * static_cast<double>(from[j]) / sum;
      }
      for (std::int64_t j = i; j < i + size.width; ++j) {
        const double value = static_cast<double>(from[j]);
        const double sign = static_cast<double>((value > 0) - (value < 0));
        to[j] =
            static_cast<T>((static_cast<double>(upstream[j]) - sign * dot) / std::max(sum, eps));
      }
    }
  });
  return dx;
}

}  // namespace

Tensor sum(const Tensor& x, Axes axes, bool keepdim) {
  require_input("sum", x);
  const Reduction reduction("sum", x.shape(), axes, keepdim);
  return record("sum", finished(sum_values(x, reduction), reduction, x.dtype()), {x}, {},
                [reduction, shape = x.shape()](const GradArgs& g) -> Grads {
                  return {spread(g.dy, reduction, shape)};
                });
}

Tensor mean(const Tensor& x, Axes axes, bool keepdim) {
  require_input("mean", x);
  const Reduction reduction("mean", x.shape(), axes, keepdim);
  return record("mean", finished(mean_values(x, reduction), reduction, x.dtype()), {x}, {},
                [reduction, shape = x.shape()](const GradArgs& g) -> Grads {
                  const double scale = 1 / static_cast<double>(reduction.count);
                  return {spread(mul(g.dy, scale), reduction, shape)};
                });
}

Tensor var(const Tensor& x, Axes axes, double correction, bool keepdim) {
  require_input("var", x);
  const Reduction reduction("var", x.shape(), axes, keepdim);
  const double n = std::max(0.0, static_cast<double>(reduction.count) - correction);
  const Tensor mean = mean_values(x, reduction);
  const Tensor deviation = sub(x.detach(), mean);  // in acc_t, as mean is
  const Tensor variance = mul(sum_values(mul(deviation, deviation), reduction), 1 / n);
  return record("var", finished(variance, reduction, x.dtype()), {x}, {x, mean},
                [reduction, n](const GradArgs& g) -> Grads {  // dx = 2 (x - mean) dy / n
                  const Tensor dy = spread(g.dy, reduction, g.saved[0].shape());
                  const Tensor slope = mul(sub(g.saved[0], g.saved[1]), 2 / n);
                  return {mul(slope, dy).to(g.dy.dtype())};
                });
}

Tensor l1_normalize(const Tensor& x, int axis, double eps) {
  require_input("l1_normalize", x);
  axis = normalize_axis("l1_normalize", axis, x.rank());
  const Tensor rows = detail::axis_to_end(x, axis);
  const Tensor y = dispatch_float(x.dtype(), "l1_normalize",
                                  [&](auto tag) { return l1_forward<decltype(tag)>(rows, eps); });
  return record("l1_normalize", detail::axis_from_end(y, axis), {x}, {rows},
                [axis, eps](const GradArgs& g) -> Grads {
                  const Tensor dy = detail::axis_to_end(g.dy, axis);
                  const Tensor dx = dispatch_float(dy.dtype(), "l1_normalize", [&](auto tag) {
                    return l1_backward<decltype(tag)>(g.saved[0], dy, eps);
                  });
                  return {detail::axis_from_end(dx, axis)};
                });
}

}  // namespace fovea::ops
