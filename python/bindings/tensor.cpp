// The class Tensor: what it is, its values, and the methods that are no ops.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/device.h"
#include "engine/dtype.h"
#include "ops/view.h"
#include "python/bindings/int_list.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "python/bindings/read_only.h"

namespace fovea::python {
namespace {

IntList list_of(const Shape& shape) { return {{shape.begin(), shape.end()}}; }

/// A float, or an int for a dtype of integers.
nb::object value_of(const Tensor& t) {
  if (is_float(t.dtype())) return nb::float_(t.item());
  check(t.numel() == 1, "item: got a tensor of shape ", t.shape(), ", expected one element");
  return nb::int_(t.detach().to(Device{}).to(DType::i64).contiguous().data<std::int64_t>()[0]);
}

bool is_true(const Tensor& t) {
  check(t.numel() == 1, "bool: got a tensor of shape ", t.shape(),
        ", whose truth is ambiguous; expected one element");
  return t.item() != 0;
}

std::int64_t length(const Tensor& t) {
  if (t.rank() == 0) throw nb::type_error("len() of a tensor without axes");
  return t.size(0);
}

Device device_of(const std::string& name) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::u8})
    check(name != to_string(dtype), "to: got the text '", name, "', expected fovea.", name);
  return parse_device(name);
}

Tensor permuted(const Tensor& x, const nb::args& order) {
  return ops::permute(x, IntList::from_arguments(order).axes());
}

void add_description(nb::class_<Tensor>& tensor) {
  tensor
      .def_prop_ro(
          "shape", [](const Tensor& t) { return list_of(t.shape()); }, "The sizes.")
      .def_prop_ro(
          "strides", [](const Tensor& t) { return list_of(t.strides()); },
          "The steps between neighbours along each axis, in elements.")
      .def_prop_ro("ndim", &Tensor::rank, "The number of axes.")
      .def_prop_ro("dtype", &Tensor::dtype, "f64, f32, bf16, i64 or u8.")
      .def_prop_ro(
          "device", [](const Tensor& t) { return to_string(t.device()); }, "\"cpu\" or \"cuda:0\".")
      .def_prop_rw(
          "name", &Tensor::name,
          [](const Tensor& t, std::string name) { t.set_name(std::move(name)); },
          "The name of a parameter, which errors show.")
      .def("size", &Tensor::size, "axis"_a,
           "The size of an axis; negative axes count from the end.")
      .def("numel", &Tensor::numel, "The number of elements.")
      .def("is_contiguous", &Tensor::is_contiguous, "Whether the elements are packed, row by row.")
      .def("__len__", length)
      .def("__bool__", is_true)
      .def("__hash__", [](const Tensor& t) { return std::hash<const void*>()(t.impl().get()); })
      .def("item", value_of, "The value of a tensor of one element, as a float or an int.")
      .def("__float__", &Tensor::item)
      .def("__int__", [](const Tensor& t) { return nb::int_(value_of(t)); });
}

void add_copies(nb::class_<Tensor>& tensor) {
  tensor
      .def(
          "to", [](const Tensor& t, DType dtype) { return t.to(dtype); }, "dtype"_a, no_gil,
          "Converted to a dtype, or moved to a device; itself if nothing changes.")
      .def(
          "to", [](const Tensor& t, const std::string& device) { return t.to(device_of(device)); },
          "device"_a, no_gil)
      .def(
          "double", [](const Tensor& t) { return t.to(DType::f64); }, no_gil, "to(f64)")
      .def(
          "float", [](const Tensor& t) { return t.to(DType::f32); }, no_gil, "to(f32)")
      .def(
          "bfloat16", [](const Tensor& t) { return t.to(DType::bf16); }, no_gil, "to(bf16)")
      .def(
          "long", [](const Tensor& t) { return t.to(DType::i64); }, no_gil, "to(i64)")
      .def("clone", &Tensor::clone, no_gil, "A packed copy.")
      .def("contiguous", &Tensor::contiguous, no_gil, "Packed, row by row: itself or a copy.")
      .def("detach", &Tensor::detach, "The same memory, off the tape.")
      .def(
          "copy_",
          [](const Tensor& t, const Tensor& source) {
            require_not_read_only("copy_", t);
            t.copy_(source);
            return t;
          },
          "source"_a, no_gil, "Overwrites the values in place; `source` broadcasts.")
      .def(
          "fill_",
          [](const Tensor& t, double value) {
            require_not_read_only("fill_", t);
            t.fill_(value);
            return t;
          },
          "value"_a, no_gil, "Sets all values in place.");
}

void add_shapes(nb::class_<Tensor>& tensor) {
  tensor
      .def(
          "reshape",
          [](const Tensor& x, const nb::args& shape) {
            return ops::reshape(x, IntList::from_arguments(shape).shape());
          },
          "Another shape for the same elements; one size may be -1.")
      .def(
          "expand",
          [](const Tensor& x, const nb::args& shape) {
            return ops::expand(x, IntList::from_arguments(shape).shape());
          },
          "Repeats axes of size 1 without a copy; -1 keeps a size.")
      .def("permute", permuted, "Axis i of the result is axis order[i].")
      .def_prop_ro(
          "T",
          [](const Tensor& x) {
            check(x.rank() == 2, "T: got shape ", x.shape(),
                  ", expected a matrix; use transpose()");
            return ops::transpose(x, 0, 1);
          },
          "The transposed matrix.");
}

}  // namespace

void bind_dtypes(nb::module_& m) {
  nb::enum_<DType>(m, "DType", "The type of a tensor's elements.")
      .value("f64", DType::f64, "64-bit floats, for gradient checks")
      .value("f32", DType::f32, "32-bit floats, the default")
      .value("bf16", DType::bf16, "the upper half of an f32")
      .value("i64", DType::i64, "64-bit integers: labels and positions")
      .value("u8", DType::u8, "bytes: pixels and masks");
}

nb::class_<Tensor> bind_tensor(nb::module_& m) {
  nb::class_<Tensor> tensor(
      m, "Tensor", nb::is_weak_referenceable(),
      "An array of numbers on a device, with its place on the tape. fovea.tensor() makes one.");
  tensor.attr("__array_ufunc__") = nb::none();  // numpy leaves array + tensor to __radd__
  add_description(tensor);
  add_copies(tensor);
  add_shapes(tensor);
  return tensor;
}

}  // namespace fovea::python
