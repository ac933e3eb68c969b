// Moving elements. Views alias the storage; their derivatives move the gradient back.
#include "ops/view.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "ops/common/rows.h"
#include "ops/view/region.h"

namespace fovea::ops {
namespace {

using detail::alias;
using detail::AlongAxis;
using detail::region_along;
using detail::scatter_along;
using detail::ViewedPart;

/// Records `count` elements of x along an axis as a view named `op`.
Tensor view_along(const OpLabel& op, const Tensor& x, const AlongAxis& read, std::int64_t count) {
  const ViewedPart region = region_along(x, read.axis, read.start, count, read.step);
  return record(op, alias(x, region), {x}, {},
                [shape = x.shape(), read](const GradArgs& g) -> Grads {
                  return {scatter_along(g, shape, read, g.dy)};
                });
}

/// Records a view, or a copy, of the elements of x in their order: its derivative reshapes dy to
/// the shape of x.
Tensor record_view(const OpLabel& op, const Tensor& x, Tensor view) {
  return record(op, std::move(view), {x}, {}, [from = x.shape()](const GradArgs& g) -> Grads {
    return {g.dy.alias(from, contiguous_strides(from))};
  });
}

/// Strides under which x's elements, in order, have `shape`; empty if that requires a copy. Each
/// run of axes that is evenly spaced in memory is split independently.
std::optional<Strides> reshaped_strides(const Tensor& x, const Shape& shape) {
  if (x.numel() == 0 || x.is_contiguous()) return contiguous_strides(shape);
  Strides result = contiguous_strides(shape);
  int axis = x.rank() - 1, to = shape.rank() - 1;
  while (axis >= 0) {
    while (axis >= 0 && x.shape()[axis] == 1) --axis;
    if (axis < 0) break;
    std::int64_t step = x.strides()[axis], run = x.shape()[axis];
    while (--axis >= 0) {
      if (x.shape()[axis] == 1) continue;
      if (x.strides()[axis] != step * run) break;
      run *= x.shape()[axis];
    }
    std::int64_t covered = 1;
    while (to >= 0 && covered * shape[to] <= run) {
      result[to] = step * covered;
      covered *= shape[to--];
      if (covered == run) break;
    }
    if (covered != run) return std::nullopt;
    // `step` belongs to the innermost axis of the run; the next run starts with its own.
  }
  return result;
}

/// `shape` with its -1 replaced by the size that x's element count implies.
Shape inferred(const Tensor& x, Shape shape) {
  const Shape wanted = shape;
  int unknown = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != -1) continue;
    check(unknown < 0, "reshape: got ", wanted, ", expected at most one size of -1");
    unknown = axis;
    shape[axis] = 1;
  }
  if (unknown >= 0) {
    const std::int64_t known = shape.numel();
    check(known > 0 || x.numel() > 0, "reshape: ", x.shape(), " has no elements, so the -1 of ",
          wanted, " may be any size; expected the size itself");
    shape[unknown] = x.numel() / std::max<std::int64_t>(1, known);
  }
  check(shape.numel() == x.numel(), "reshape: ", x.shape(), " has ", x.numel(),
        " elements, which do not fill ", wanted);
  return shape;
}

void require_equal_off_axis(const Tensor& first, const Tensor& t, int axis) {
  check(t.rank() == first.rank(), "cat: got shapes ", first.shape(), " and ", t.shape(),
        ", expected equal ranks");
  for (int i = 0; i < t.rank(); ++i) {
    check(i == axis || t.shape()[i] == first.shape()[i], "cat: got shapes ", first.shape(), " and ",
          t.shape(), ", expected equal sizes off axis ", axis);
  }
  check(t.dtype() == first.dtype() && t.device() == first.device(), "cat: got ", first.dtype(),
        " on ", first.device(), " and ", t.dtype(), " on ", t.device(), ", expected equal");
}

/// dx[..., (i + shift) mod n, ...] = x[..., i, ...] for 0 <= shift < n.
Tensor rolled(const Tensor& x, std::int64_t shift, int axis) {
  const std::int64_t n = x.shape()[axis];
  const Tensor y = empty(x.shape(), x.options());
  copy_into(alias(y, region_along(y, axis, shift, n - shift)),
            alias(x, region_along(x, axis, 0, n - shift)));
  copy_into(alias(y, region_along(y, axis, 0, shift)),
            alias(x, region_along(x, axis, n - shift, shift)));
  return y;
}

/// x reversed along an axis, without a copy.
Tensor reversed(const Tensor& x, int axis) {
  const std::int64_t n = x.shape()[axis];
  return n == 0 ? x : alias(x, region_along(x, axis, n - 1, n, -1));
}

/// The part of x that padding keeps: its sizes, and its positions in x and in y.
struct PadPlan {
  Shape out, kept;
  std::int64_t from = 0, to = 0;  ///< offsets in elements of x and of a contiguous y
};

PadPlan plan_pad(const Tensor& x, std::span<const std::int64_t> amounts) {
  check(amounts.size() % 2 == 0 && amounts.size() <= 2 * static_cast<std::size_t>(x.rank()),
        "pad: got ", amounts.size(), " amounts, expected two per axis, at most ", 2 * x.rank());
  PadPlan plan{x.shape(), x.shape()};
  for (std::size_t i = 0; i < amounts.size(); i += 2) {
    const int axis = x.rank() - 1 - static_cast<int>(i / 2);
    const std::int64_t before = amounts[i], after = amounts[i + 1], n = x.shape()[axis];
    plan.out[axis] = n + before + after;
    check(plan.out[axis] >= 0, "pad: ", before, " before and ", after, " after leave size ",
          plan.out[axis], " of axis ", axis, " of ", x.shape());
    const std::int64_t cropped =
        std::max<std::int64_t>(0, -before) + std::max<std::int64_t>(0, -after);
    plan.kept[axis] = std::max<std::int64_t>(0, n - cropped);
  }
  const Strides out_strides = contiguous_strides(plan.out);
  for (std::size_t i = 0; i < amounts.size(); i += 2) {
    const int axis = x.rank() - 1 - static_cast<int>(i / 2);
    plan.from += std::max<std::int64_t>(0, -amounts[i]) * x.strides()[axis];
    plan.to += std::max<std::int64_t>(0, amounts[i]) * out_strides[axis];
  }
  return plan;
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& wanted) {
  OpLabel op("reshape");
  const Shape shape = inferred(x, wanted);
  op.set({"shape", shape});
  const auto strides = reshaped_strides(x, shape);
  if (strides) return record_view(op, x, x.alias(shape, *strides));
  return record_view(op, x, x.detach().contiguous().alias(shape, contiguous_strides(shape)));
}

Tensor permute(const Tensor& x, std::initializer_list<int> order) {
  return permute(x, std::span(order.begin(), order.size()));
}

Tensor permute(const Tensor& x, std::span<const int> order) {
  OpLabel op("permute");
  check(static_cast<int>(order.size()) == x.rank(), "permute: got ", order.size(),
        " axes for shape ", x.shape());
  Shape shape = x.shape();
  Strides strides = x.strides(), axes = strides;
  std::vector<int> inverse(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int axis = normalize_axis(op, order[i], x.rank());
    check(inverse[static_cast<std::size_t>(axis)] < 0, "permute: axis ", axis, " appears twice");
    inverse[static_cast<std::size_t>(axis)] = static_cast<int>(i);
    shape[static_cast<int>(i)] = x.shape()[axis];
    axes[static_cast<int>(i)] = axis;
    strides[static_cast<int>(i)] = x.strides()[axis];
  }
  op.set({"order", axes});
  return record(op, x.alias(shape, strides), {x}, {},
                [inverse](const GradArgs& g) -> Grads { return {permute(g.dy, inverse)}; });
}

Tensor transpose(const Tensor& x, int a, int b) {
  OpLabel op("transpose");
  a = normalize_axis(op, a, x.rank());
  b = normalize_axis(op, b, x.rank());
  op.set({"axes", std::array{a, b}});
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return record(op, x.alias(shape, strides), {x}, {},
                [a, b](const GradArgs& g) -> Grads { return {transpose(g.dy, a, b)}; });
}

Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop) {
  return slice(x, axis, {start, stop, 1});
}

Tensor slice(const Tensor& x, int axis, Range range) {
  OpLabel op("slice");
  axis = normalize_axis(op, axis, x.rank());
  auto [start, stop, step] = range;
  check(step >= 1, "slice: got step ", step, ", expected at least 1");
  const std::int64_t n = x.shape()[axis];
  const auto position = [n](std::int64_t p) {
    return std::clamp<std::int64_t>(p < 0 ? p + n : p, 0, n);
  };
  start = position(start);
  stop = std::max(start, position(stop));
  const std::int64_t count = (stop - start) / step + ((stop - start) % step != 0);
  op.set({{"axis", axis}, {"start", start}, {"stop", stop}, {"step", step}});
  return view_along(op, x, {axis, start, step}, count);
}

Tensor select(const Tensor& x, int axis, std::int64_t index) {
  OpLabel op("select");
  axis = normalize_axis(op, axis, x.rank());
  const std::int64_t n = x.shape()[axis];
  check(index >= -n && index < n, "select: index ", index, " is out of range for axis ", axis,
        " of ", x.shape());
  if (index < 0) index += n;
  op.set({{"axis", axis}, {"index", index}});
  ViewedPart region = region_along(x, axis, index, 1);
  region.shape.erase(axis);
  region.strides.erase(axis);
  return record(op, alias(x, region), {x}, {},
                [shape = x.shape(), axis, index](const GradArgs& g) -> Grads {
                  Shape part = shape;
                  part[axis] = 1;
                  const Tensor dy = g.dy.alias(part, contiguous_strides(part));
                  return {scatter_along(g, shape, {axis, index}, dy)};
                });
}

Tensor expand(const Tensor& x, const Shape& wanted) {
  OpLabel op("expand");
  check(wanted.rank() >= x.rank(), "expand: ", x.shape(), " has more axes than ", wanted);
  Shape shape = wanted;
  for (int i = 1; i <= shape.rank(); ++i) {
    const bool own = i <= x.rank();
    if (shape[-i] == -1 && own) shape[-i] = x.shape()[-i];
    check(shape[-i] >= 0 && (!own || x.shape()[-i] == 1 || x.shape()[-i] == shape[-i]),
          "expand: ", x.shape(), " does not expand to ", wanted);
  }
  op.set({"shape", shape});
  return record(op, x.alias(shape, broadcast_strides(x.shape(), x.strides(), shape)), {x}, {},
                [](const GradArgs& g) -> Grads { return {g.dy}; });
}

Tensor squeeze(const Tensor& x, int axis) {
  OpLabel op("squeeze");
  axis = normalize_axis(op, axis, x.rank());
  check(x.shape()[axis] == 1, "squeeze: axis ", axis, " of ", x.shape(), " has size ",
        x.shape()[axis], ", expected 1");
  op.set({"axis", axis});
  return record_view(op, x, detail::without_axis(x, axis));
}

Tensor unsqueeze(const Tensor& x, int axis) {
  OpLabel op("unsqueeze");
  axis = normalize_axis(op, axis, x.rank() + 1);
  op.set({"axis", axis});
  return record_view(op, x, detail::with_axis(x, axis));
}

Tensor cat(const std::vector<Tensor>& tensors, int axis) {
  OpLabel op("cat");
  check(!tensors.empty(), "cat: got no tensors");
  const Tensor& first = tensors[0];
  axis = normalize_axis(op, axis, first.rank());
  op.set({"axis", axis});
  Shape shape = first.shape();
  shape[axis] = 0;
  for (const Tensor& t : tensors) {
    require_equal_off_axis(first, t, axis);
    shape[axis] += t.shape()[axis];
  }
  const Tensor y = empty(shape, first.options());
  std::vector<std::int64_t> sizes;
  std::int64_t at = 0;
  for (const Tensor& t : tensors) {
    sizes.push_back(t.shape()[axis]);
    copy_into(alias(y, region_along(y, axis, at, sizes.back())), t);
    at += sizes.back();
  }
  return record(op, y, tensors, {},
                [sizes, axis](const GradArgs& g) -> Grads { return split(g.dy, sizes, axis); });
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  OpLabel op("stack");
  check(!tensors.empty(), "stack: got no tensors");
  axis = normalize_axis(op, axis, tensors[0].rank() + 1);
  op.set({"axis", axis});
  Shape shape = tensors[0].shape();
  shape.insert(axis, static_cast<std::int64_t>(tensors.size()));
  const Tensor y = empty(shape, tensors[0].options());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    check(t.shape() == tensors[0].shape() && t.dtype() == y.dtype() && t.device() == y.device(),
          "stack: got ", tensors[0].shape(), " of ", y.dtype(), " and ", t.shape(), " of ",
          t.dtype(), ", expected equal");
    copy_into(select(y, axis, static_cast<std::int64_t>(i)), t);
  }
  return record(op, y, tensors, {}, [axis](const GradArgs& g) -> Grads {
    Grads parts;
    for (std::int64_t i = 0; i < g.dy.size(axis); ++i) parts.push_back(select(g.dy, axis, i));
    return parts;
  });
}

std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> sizes, int axis) {
  axis = normalize_axis("split", axis, x.rank());
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    check(size >= 0, "split: got size ", size, ", expected 0 or more");
    total += size;
  }
  check(total == x.shape()[axis], "split: sizes sum to ", total, ", axis ", axis, " of ", x.shape(),
        " has ", x.shape()[axis]);
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    const OpLabel op("split", {{"axis", axis}, {"start", start}, {"size", size}});
    parts.push_back(view_along(op, x, {axis, start}, size));
    start += size;
  }
  return parts;
}

Tensor pad(const Tensor& x, std::span<const std::int64_t> amounts, double value) {
  const OpLabel op("pad", {{"amounts", amounts}, {"value", value}});
  const PadPlan plan = plan_pad(x, amounts);
  const Strides out_strides = contiguous_strides(plan.out);
  const Tensor y = full(plan.out, value, x.options());
  if (plan.kept.numel() > 0) {
    copy_into(y.alias(plan.kept, out_strides, plan.to), x.alias(plan.kept, x.strides(), plan.from));
  }
  const std::vector<std::int64_t> undo = [&] {
    std::vector<std::int64_t> negated(amounts.begin(), amounts.end());
    for (std::int64_t& amount : negated) amount = -amount;
    return negated;
  }();
  return record(op, y, {x}, {}, [undo](const GradArgs& g) -> Grads { return {pad(g.dy, undo)}; });
}

Tensor roll(const Tensor& x, std::int64_t shift, int axis) {
  OpLabel op("roll");
  axis = normalize_axis(op, axis, x.rank());
  const std::int64_t n = std::max<std::int64_t>(1, x.shape()[axis]);
  const std::int64_t forward = (shift % n + n) % n, back = (n - forward) % n;
  op.set({{"shift", forward}, {"axis", axis}});
  return record(op, rolled(x, forward, axis), {x}, {},
                [back, axis](const GradArgs& g) -> Grads { return {rolled(g.dy, back, axis)}; });
}

Tensor flip(const Tensor& x, int axis) {
  OpLabel op("flip");
  axis = normalize_axis(op, axis, x.rank());
  op.set({"axis", axis});
  const Tensor y = empty(x.shape(), x.options());
  copy_into(y, reversed(x, axis));
  return record(op, y, {x}, {},
                [axis](const GradArgs& g) -> Grads { return {reversed(g.dy, axis)}; });
}

}  // namespace fovea::ops
