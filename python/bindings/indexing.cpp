// x[...] with ints, slices, None, an ellipsis and one tensor of positions.
#include <cstdint>

#include "ops/index.h"
#include "ops/view.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "python/bindings/read_only.h"

namespace fovea::python {
namespace {

/// Walks through the axes of a tensor, from the first index to the last.
class Indexed {
 public:
  explicit Indexed(const Tensor& x, const nb::tuple& index) : result_(x) {
    for (const nb::handle item : index) {
      if (!item.is_none() && item.ptr() != Py_Ellipsis) ++axes_used_;
    }
    check(axes_used_ <= x.rank(), "index: got ", axes_used_, " indices for shape ", x.shape());
    for (const nb::handle item : index) apply(item);
  }
  [[nodiscard]] const Tensor& result() const { return result_; }
  [[nodiscard]] bool is_view() const { return is_view_; }

 private:
  void apply(nb::handle item) {
    if (item.is_none()) {
      result_ = ops::unsqueeze(result_, axis_++);
    } else if (item.ptr() == Py_Ellipsis) {
      check(!saw_ellipsis_, "index: got two ellipses, expected one at most");
      saw_ellipsis_ = true;
      axis_ = result_.rank() - left();
    } else {
      ++done_;
      take(item);
    }
  }
  void take(nb::handle item) {
    if (nb::isinstance<nb::slice>(item)) return slice(nb::borrow<nb::slice>(item));
    if (nb::isinstance<Tensor>(item)) return select_all(nb::cast<const Tensor&>(item));
    check(PyIndex_Check(item.ptr()) != 0, "index: got ", nb::type_name(item.type()).c_str(),
          ", expected an int, a slice, None, ... or a tensor of i64");
    const auto position = nb::cast<std::int64_t>(nb::steal(PyNumber_Index(item.ptr())));
    result_ = ops::select(result_, axis_, position);
  }
  /// A negative step reads the range from its other end and turns it around, which copies.
  void slice(const nb::slice& range) {
    const std::int64_t size = result_.size(axis_);
    const auto [start, stop, step, count] = range.compute(static_cast<std::size_t>(size));
    const std::int64_t taken = static_cast<std::int64_t>(count), last = start + (taken - 1) * step;
    if (step > 0) {
      if (taken < size) result_ = ops::slice(result_, axis_, {start, start + taken * step, step});
    } else {
      const ops::Range reversed{last, taken > 0 ? start + 1 : last, -step};
      result_ = ops::flip(ops::slice(result_, axis_, reversed), axis_);
      is_view_ = false;
    }
    ++axis_;
  }
  void select_all(const Tensor& positions) {
    check(positions.dtype() == DType::i64, "index: got a tensor of ", positions.dtype(),
          ", expected i64; ops.where() and ops.masked_fill() take masks");
    check(is_view_, "index: got a tensor beside another or a negative step, expected one tensor");
    Shape shape = result_.shape();
    shape.erase(axis_);
    for (const std::int64_t size : positions.shape()) shape.insert(axis_++, size);
    const int first = axis_ - positions.rank();
    result_ = ops::reshape(
        ops::index_select(result_, first, ops::reshape(positions, {positions.numel()})), shape);
    is_view_ = false;
  }
  [[nodiscard]] int left() const { return axes_used_ - done_; }

  Tensor result_;
  int axis_ = 0, axes_used_ = 0, done_ = 0;
  bool saw_ellipsis_ = false, is_view_ = true;
};

Indexed at(const Tensor& x, const nb::object& index) {
  return Indexed(
      x, nb::isinstance<nb::tuple>(index) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index));
}

Tensor part_to_write(const Tensor& x, const nb::object& index) {
  require_not_read_only("index", x);
  const Indexed part = at(x, index);
  check(part.is_view(), "index: writing takes ints and slices with a step above 0");
  return part.result();
}

}  // namespace

void bind_indexing(nb::class_<Tensor>& tensor) {
  tensor
      .def(
          "__getitem__",
          [](const Tensor& x, const nb::object& index) { return at(x, index).result(); },
          "index"_a.none())
      .def(
          "__setitem__",
          [](const Tensor& x, const nb::object& index, const Tensor& value) {
            part_to_write(x, index).copy_(value);
          },
          "index"_a.none(), "value"_a)
      .def(
          "__setitem__",
          [](const Tensor& x, const nb::object& index, double value) {
            part_to_write(x, index).fill_(value);
          },
          "index"_a.none(), "value"_a);
}

}  // namespace fovea::python
