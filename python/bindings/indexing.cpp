// x[...] with ints, slices, None, an ellipsis and one tensor or array of positions.
#include <cstdint>
#include <vector>

#include "engine/values.h"
#include "ops/index.h"
#include "ops/view.h"
#include "python/bindings/dlpack_import.h"
#include "python/bindings/no_operand.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "python/bindings/read_only.h"

namespace fovea::python {
namespace {

/// The positions that a tensor or another library's array names, as i64.
Tensor positions_of(nb::handle item) {
  const bool is_ours = nb::isinstance<Tensor>(item);
  const Tensor positions =
      is_ours ? nb::cast<Tensor>(item) : from_dlpack(nb::borrow<nb::object>(item));
  check(positions.dtype() == DType::i64, "index: got ", is_ours ? "a tensor" : "an array", " of ",
        positions.dtype(), ", expected i64; ops.where() and ops.masked_fill() take masks",
        is_ours ? "" : ", np.flatnonzero(mask) gives their positions");
  return positions;
}

/// Walks through the axes of a tensor, from the first index to the last.
class Indexed {
 public:
  explicit Indexed(const Tensor& x, const nb::tuple& index) : part_(x) {
    for (const nb::handle item : index) {
      if (!item.is_none() && item.ptr() != Py_Ellipsis) ++axes_used_;
    }
    check(axes_used_ <= x.rank(), "index: got ", axes_used_, " indices for shape ", x.shape());
    for (const nb::handle item : index) apply(item);
  }

  [[nodiscard]] Tensor read() const {
    if (!positions_.defined()) return part_;
    const Tensor flat = ops::reshape(positions_, {positions_.numel()});
    return ops::reshape(ops::index_select(part_, axis_of_positions_, flat), shape());
  }
  /// Writes `value`, which broadcasts. Where a position occurs twice, the last value stays.
  void write(const Tensor& value) const {
    require_view();
    if (!positions_.defined()) return part_.copy_(value);
    const std::vector<std::int64_t> positions = to_vector<std::int64_t>(positions_);
    const std::int64_t size = part_.size(axis_of_positions_);
    for (const std::int64_t position : positions) {
      check(position >= 0 && position < size, "index: position ", position,
            " is out of range, expected 0 to ", size - 1);
    }
    Shape packed = part_.shape();
    packed[axis_of_positions_] = std::ssize(positions);
    const Tensor values = ops::reshape(ops::expand(value, shape()), packed);
    for (std::int64_t i = 0; i < std::ssize(positions); ++i) {
      ops::select(part_, axis_of_positions_, positions[static_cast<std::size_t>(i)])
          .copy_(ops::select(values, axis_of_positions_, i));
    }
  }
  void fill(double value) const {
    if (positions_.defined()) return write(scalar(value, part_.options()));
    require_view();
    part_.fill_(value);
  }

 private:
  void require_view() const {
    check(is_view_, "index: writing takes ints, positions and slices with a step above 0");
  }
  /// Of what is read or written.
  [[nodiscard]] Shape shape() const {
    Shape shape = part_.shape();
    if (!positions_.defined()) return shape;
    shape.erase(axis_of_positions_);
    int axis = axis_of_positions_;
    for (const std::int64_t size : positions_.shape()) shape.insert(axis++, size);
    return shape;
  }
  void apply(nb::handle item) {
    if (item.is_none()) {
      part_ = ops::unsqueeze(part_, axis_++);
    } else if (item.ptr() == Py_Ellipsis) {
      check(!saw_ellipsis_, "index: got two ellipses, expected one at most");
      saw_ellipsis_ = true;
      axis_ = part_.rank() - left();
    } else {
      ++done_;
      take(item);
    }
  }
  void take(nb::handle item) {
    if (nb::isinstance<nb::slice>(item)) return slice(nb::borrow<nb::slice>(item));
    if (!PyLong_Check(item.ptr())) {
      if (nb::isinstance<Tensor>(item) || is_array(item)) return choose(positions_of(item));
      check(PyIndex_Check(item.ptr()) != 0, "index: got ", nb::type_name(item.type()).c_str(),
            ", expected an int, a slice, None, ... or a tensor or array of i64");
    }
    part_ = ops::select(part_, axis_, integer(item));
  }
  /// A negative step reads the range from its other end and turns it around, which copies.
  void slice(const nb::slice& range) {
    const std::int64_t size = part_.size(axis_);
    const auto [start, stop, step, count] = range.compute(static_cast<std::size_t>(size));
    const std::int64_t taken = static_cast<std::int64_t>(count), last = start + (taken - 1) * step;
    if (step > 0) {
      if (taken < size) part_ = ops::slice(part_, axis_, {start, start + taken * step, step});
    } else {
      const ops::Range reversed{last, taken > 0 ? start + 1 : last, -step};
      part_ = ops::flip(ops::slice(part_, axis_, reversed), axis_);
      is_view_ = false;
    }
    ++axis_;
  }
  void choose(const Tensor& positions) {
    check(!positions_.defined(), "index: got two tensors of positions, expected one");
    positions_ = positions.to(part_.device());
    axis_of_positions_ = axis_++;
  }
  [[nodiscard]] int left() const { return axes_used_ - done_; }

  Tensor part_;       ///< a view unless a step is negative; positions are yet to be chosen from it
  Tensor positions_;  ///< undefined: none are given
  int axis_of_positions_ = 0, axis_ = 0, axes_used_ = 0, done_ = 0;
  bool saw_ellipsis_ = false, is_view_ = true;
};

Indexed at(const Tensor& x, const nb::object& index) {
  return Indexed(
      x, nb::isinstance<nb::tuple>(index) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index));
}

Indexed to_write(const Tensor& x, const nb::object& index) {
  require_not_read_only("index", x);
  return at(x, index);
}

}  // namespace

void bind_indexing(nb::class_<Tensor>& tensor) {
  tensor
      .def(
          "__getitem__",
          [](const Tensor& x, const nb::object& index) { return at(x, index).read(); },
          "index"_a.none())
      .def(
          "__setitem__",
          [](const Tensor& x, const nb::object& index, const Tensor& value) {
            to_write(x, index).write(value);
          },
          "index"_a.none(), "value"_a)
      .def(
          "__setitem__",
          [](const Tensor& x, const nb::object& index, double value) {
            to_write(x, index).fill(value);
          },
          "index"_a.none(), "value"_a)
      .def(
          "__setitem__",
          [](const Tensor& /*x*/, const nb::object& /*index*/, const NoOperand& value) {
            value.refuse("index");
          },
          "index"_a.none(), "value"_a);
}

}  // namespace fovea::python
