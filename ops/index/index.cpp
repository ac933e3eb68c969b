// Reading by index, and the additions that undo it. One loop serves gather, index_select and
// embedding: an index that is the same along an axis has stride 0 there.
#include "ops/index.h"

#include <algorithm>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "ops/common/checks.h"

namespace fovea::ops {
namespace {

using detail::require_one_device;

/// Pairs each element of a slow tensor `many` (of index's shape) with element `at[...]` along
/// `axis` of `one`.
struct Pairing {
  Shape shape;  ///< of index and of `many`
  int axis = 0;
  Strides one, many, index;
  const std::int64_t* at = nullptr;
};

Pairing make_pairing(const Tensor& one, const Tensor& many, const Tensor& index, int axis) {
  return {many.shape(),    axis,
          one.strides(),   many.strides(),
          index.strides(), index.data<std::int64_t>()};
}

void require_index(std::string_view op, const Tensor& index, std::int64_t size) {
  check(index.dtype() == DType::i64, op, ": got an index of dtype ", to_string(index.dtype()),
        ", expected i64");
  require_one_device(op, {index});
  const Tensor packed = index.detach().contiguous();
  const std::int64_t* const at = packed.data<std::int64_t>();
  for (std::int64_t i = 0; i < packed.numel(); ++i) {
    check(at[i] >= 0 && at[i] < size, op, ": index ", at[i], " at position ", i,
          " is out of range, expected 0 to ", size - 1);
  }
}

/// Offsets of a row (all axes but the last) in the three arrays, without the indexed axis of `one`.
struct RowOffsets {
  std::int64_t one = 0, many = 0, index = 0;
};

RowOffsets row_offsets(const Pairing& p, std::int64_t row) {
  RowOffsets at;
  for (int axis = p.shape.rank() - 2; axis >= 0; --axis) {
    const std::int64_t position = row % p.shape[axis];
    row /= p.shape[axis];
    if (axis != p.axis) at.one += position * p.one[axis];
    at.many += position * p.many[axis];
    at.index += position * p.index[axis];
  }
  return at;
}

/// Calls body(one offset, many offset) for the elements [begin, end) of a row, in order.
template <class Body>
void for_row(const Pairing& p, std::int64_t row, std::int64_t begin, std::int64_t end, Body body) {
  const RowOffsets at = row_offsets(p, row);
  const bool along_last = p.axis == p.shape.rank() - 1;
  const std::int64_t one_step = along_last ? 0 : p.one[-1], axis_step = p.one[p.axis];
  const std::int64_t many_step = p.many[-1], index_step = p.index[-1];
  if (index_step == 0 && begin < end) {  // one index for the whole row
    const std::int64_t one = at.one + p.at[at.index] * axis_step;
    for (std::int64_t j = begin; j < end; ++j) body(one + j * one_step, at.many + j * many_step);
    return;
  }
  for (std::int64_t j = begin; j < end; ++j) {
    const std::int64_t position = p.at[at.index + j * index_step];
    body(at.one + position * axis_step + j * one_step, at.many + j * many_step);
  }
}

/// y[i] = x[index[i]], rows in parallel.
Tensor read_at(const Tensor& x, int axis, const Tensor& index, const Shape& shape) {
  const Tensor y = empty(shape, x.options());
  if (y.numel() == 0) return y;
  const Pairing p = make_pairing(x, y, index, axis);
  const std::int64_t width = shape[-1], rows = shape.numel() / width;
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 14) / width);
  dispatch_any(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* const from = x.data<T>();
    T* const to = y.data<T>();
    parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        for_row(p, row, 0, width, [&](std::int64_t i, std::int64_t j) { to[j] = from[i]; });
      }
    });
  });
  return y;
}

/// dx[index[i]] += dy[i]. Rows that can meet in one element of dx are added by one task in
/// row-major order: a task owns the axes before `axis` and a block of the last one.
template <class T>
Tensor add_at_typed(const Shape& shape, int axis, const Tensor& index, const Tensor& dy) {
  using A = acc_t<T>;
  const Tensor dx = zeros(shape, {dtype_of<A>, {}});
  if (dy.numel() == 0) return dx.to(dy.dtype());
  const Pairing p = make_pairing(dx, dy, index, axis);
  const std::int64_t width = dy.shape()[-1], rows = dy.numel() / width;
  std::int64_t groups = 1;
  for (int i = 0; i < std::min(axis, dy.rank() - 1); ++i) groups *= dy.shape()[i];
  const std::int64_t group_rows = rows / groups;
  const std::int64_t block = axis == dy.rank() - 1 ? width : 64;
  const std::int64_t blocks = (width + block - 1) / block;
  A* const to = dx.data<A>();
  const T* const from = dy.data<T>();
  parallel_for(groups * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t group = task / blocks, first = task % blocks * block;
      const std::int64_t last = std::min(width, first + block);
      for (std::int64_t row = group * group_rows; row < (group + 1) * group_rows; ++row) {
        for_row(p, row, first, last,
                [&](std::int64_t i, std::int64_t j) { to[i] += static_cast<A>(from[j]); });
      }
    }
  });
  return dx.to(dy.dtype());
}

Tensor add_at(const Shape& shape, int axis, const Tensor& index, const Tensor& dy) {
  return dispatch_float(
      dy.dtype(), [&](auto tag) { return add_at_typed<decltype(tag)>(shape, axis, index, dy); });
}

/// Records y = x read at `index`, which has y's shape (strides may be 0).
Tensor recorded_read(std::string_view op, const Tensor& x, int axis, const Tensor& index) {
  return record(op, read_at(x, axis, index, index.shape()), {x}, {index},
                [shape = x.shape(), axis](const GradArgs& g) -> Grads {
                  return {add_at(shape, axis, g.saved[0], g.dy)};
                });
}

/// index [n] as a tensor of `shape` that varies along `axis` only.
Tensor spread(const Tensor& index, const Shape& shape, int axis) {
  Strides strides = shape;
  for (int i = 0; i < shape.rank(); ++i) strides[i] = i == axis ? index.strides()[0] : 0;
  return index.alias(shape, strides);
}

}  // namespace

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  axis = normalize_axis("gather", axis, x.rank());
  require_one_device("gather", {x});
  check(index.rank() == x.rank(), "gather: got index ", index.shape(), " for x ", x.shape(),
        ", expected equal ranks");
  for (int i = 0; i < x.rank(); ++i) {
    check(i == axis || index.shape()[i] <= x.shape()[i], "gather: index ", index.shape(),
          " is larger than x ", x.shape(), " along axis ", i);
  }
  require_index("gather", index, x.shape()[axis]);
  return recorded_read("gather", x, axis, index);
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
  axis = normalize_axis("index_select", axis, x.rank());
  require_one_device("index_select", {x});
  check(index.rank() == 1, "index_select: got index ", index.shape(), ", expected one axis");
  require_index("index_select", index, x.shape()[axis]);
  Shape shape = x.shape();
  shape[axis] = index.shape()[0];
  return recorded_read("index_select", x, axis, spread(index, shape, axis));
}

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  require_one_device("embedding", {weight});
  check(weight.rank() == 2, "embedding: got weight ", weight.shape(), ", expected [V, D]");
  require_index("embedding", ids, weight.shape()[0]);
  const std::int64_t n = ids.numel(), width = weight.shape()[1];
  const Tensor flat = ids.detach().contiguous().alias({n}, {1});
  const Tensor index = spread(flat, {n, width}, 0);
  Shape shape = ids.shape();
  shape.push_back(width);
  const Tensor rows = read_at(weight, 0, index, index.shape());
  return record("embedding", rows.alias(shape, contiguous_strides(shape)), {weight}, {index},
                [from = weight.shape()](const GradArgs& g) -> Grads {
                  const Tensor& at = g.saved[0];
                  const Tensor dy = g.dy.alias(at.shape(), contiguous_strides(at.shape()));
                  return {add_at(from, 0, at, dy)};
                });
}

Tensor one_hot(const Tensor& ids, std::int64_t classes, DType dtype) {
  check(classes >= 1, "one_hot: got ", classes, " classes, expected at least 1");
  require_index("one_hot", ids, classes);
  const Tensor packed = ids.detach().contiguous();
  Shape shape = ids.shape();
  shape.push_back(classes);
  const Tensor y = zeros(shape, {dtype, {}});
  const std::int64_t* const at = packed.data<std::int64_t>();
  dispatch_any(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* const to = y.data<T>();
    for (std::int64_t i = 0; i < packed.numel(); ++i) to[i * classes + at[i]] = T(acc_t<T>(1));
  });
  return y;
}

}  // namespace fovea::ops
