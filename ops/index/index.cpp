// Indexed reads, and the additions of their derivatives. One kernel serves gather, index_select
// and embedding: an index that is constant along an axis has stride 0 there.
#include "ops/index.h"

#include <algorithm>

#include "engine/autograd.h"
#include "ops/common/rows.h"
#include "ops/index/outside.h"

namespace fovea::ops {
namespace {

using detail::require_one_device;

void require_index(const char* op, const Tensor& index, std::int64_t size) {
  check(index.dtype() == DType::i64, op, ": got an index of dtype ", to_string(index.dtype()),
        ", expected i64");
  const detail::Outside wrong =
      detail::first_outside(op, detail::detached_contiguous(index), {0, size});
  check(!wrong, op, ": index ", wrong.value, " at position ", wrong.position,
        " is out of range, expected 0 to ", size - 1);
}

/// The kernel arguments for an indexed access; `many` has the shape of `index`.
IndexPairs make_pairs(const Tensor& one, const Tensor& many, const Tensor& index, int axis) {
  IndexPairs p;
  p.rank = many.rank();
  p.axis = axis;
  std::copy(many.shape().begin(), many.shape().end(), p.shape);
  std::copy(one.strides().begin(), one.strides().end(), p.one);
  std::copy(many.strides().begin(), many.strides().end(), p.many);
  std::copy(index.strides().begin(), index.strides().end(), p.index);
  p.at = reinterpret_cast<const std::int64_t*>(index.raw());
  return p;
}

/// y[i] = x[index[i]].
Tensor read_at(const Tensor& x, int axis, const Tensor& index) {
  const Tensor y = empty(index.shape(), x.options());
  if (y.numel() == 0) return y;
  kernels(x.device())
      .index.read_at({x.dtype(), x.size(axis), make_pairs(x, y, index, axis), x.raw(), y.raw()});
  return y;
}

/// dx[index[i]] += dy[i], starting from 0: in f64 where an element may get so many terms that f32
/// would lose digits.
Tensor add_at(const Shape& shape, int axis, const Tensor& index, const Tensor& dy) {
  constexpr std::int64_t kMostInF32 = 1 << 12;
  const bool is_long = dy.size(axis) > kMostInF32;
  const DType sums = is_long ? DType::f64 : acc_dtype(dy.dtype());
  const Tensor dx = zeros(shape, {sums, dy.device()});
  if (dy.numel() != 0) {
    kernels(dy.device())
        .index.add_at(
            {dy.dtype(), sums, dx.size(axis), make_pairs(dx, dy, index, axis), dx.raw(), dy.raw()});
  }
  return dx.to(dy.dtype());
}

/// Records y = x read at `index`, which has y's shape (strides may be 0). `given` is the op's
/// index.
Tensor recorded_read(const OpLabel& op, const Tensor& x, int axis, const Tensor& index,
                     const Tensor& given) {
  return record(op, read_at(x, axis, index), {x, given}, {index},
                [shape = x.shape(), axis](const GradArgs& g) -> Grads {
                  return {add_at(shape, axis, g.saved[0], g.dy), {}};
                });
}

/// index [n] expanded to `shape`, varying along `axis` only.
Tensor spread(const Tensor& index, const Shape& shape, int axis) {
  Strides strides = shape;
  for (int i = 0; i < shape.rank(); ++i) strides[i] = i == axis ? index.strides()[0] : 0;
  return index.alias(shape, strides);
}

}  // namespace

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  OpLabel op("gather");
  axis = normalize_axis(op, axis, x.rank());
  require_one_device(op, {x, index});
  op.set({"axis", axis});
  check(index.rank() == x.rank(), "gather: got index ", index.shape(), " for x ", x.shape(),
        ", expected equal ranks");
  for (int i = 0; i < x.rank(); ++i) {
    check(i == axis || index.shape()[i] <= x.shape()[i], "gather: index ", index.shape(),
          " is larger than x ", x.shape(), " along axis ", i);
  }
  require_index(op.name(), index, x.shape()[axis]);
  return recorded_read(op, x, axis, index, index);
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
  OpLabel op("index_select");
  axis = normalize_axis(op, axis, x.rank());
  require_one_device(op, {x, index});
  op.set({"axis", axis});
  check(index.rank() == 1, "index_select: got index ", index.shape(), ", expected one axis");
  require_index(op.name(), index, x.shape()[axis]);
  Shape shape = x.shape();
  shape[axis] = index.shape()[0];
  return recorded_read(op, x, axis, spread(index, shape, axis), index);
}

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  const OpLabel op("embedding");
  require_one_device(op, {weight, ids});
  check(weight.rank() == 2, "embedding: got weight ", weight.shape(), ", expected [V, D]");
  require_index(op.name(), ids, weight.shape()[0]);
  const std::int64_t n = ids.numel(), width = weight.shape()[1];
  const Tensor flat = detail::detached_contiguous(ids).alias({n}, {1});
  const Tensor index = spread(flat, {n, width}, 0);
  Shape shape = ids.shape();
  shape.push_back(width);
  const Tensor rows = read_at(weight, 0, index);
  return record(op, rows.alias(shape, contiguous_strides(shape)), {weight, ids}, {index},
                [from = weight.shape()](const GradArgs& g) -> Grads {
                  const Tensor& at = g.saved[0];
                  const Tensor dy = g.dy.alias(at.shape(), contiguous_strides(at.shape()));
                  return {add_at(from, 0, at, dy), {}};
                });
}

Tensor one_hot(const Tensor& ids, std::int64_t classes, DType dtype) {
  const OpLabel op("one_hot", {{"classes", classes}});
  check(classes >= 1, "one_hot: got ", classes, " classes, expected at least 1");
  require_index(op.name(), ids, classes);
  Shape shape = ids.shape();
  shape.push_back(classes);
  const Tensor packed = detail::detached_contiguous(ids), y = zeros(shape, {dtype, ids.device()});
  kernels(ids.device())
      .index.one_hot({dtype, packed.numel(), classes,
                      reinterpret_cast<const std::int64_t*>(packed.raw()), y.raw()});
  return record_constant(op, y, {ids});
}

}  // namespace fovea::ops
