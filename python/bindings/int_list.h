// Lists of integers as Python writes them, an int or a sequence: shapes, axes, pairs.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/shape.h"

namespace fovea::python {

/// `object` as an int. What its __index__ raises comes out.
inline std::int64_t integer(nanobind::handle object) {
  const nanobind::object index = nanobind::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) throw nanobind::python_error();
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0)  // the text costs more than the int
    fail("integer: got ", nanobind::str(index).c_str(), ", expected one of 64 bits");
  return value;
}

struct IntList {
  std::vector<std::int64_t> values;

  [[nodiscard]] Shape shape() const { return Shape(std::span(values)); }
  [[nodiscard]] std::vector<int> axes() const {
    std::vector<int> all;
    for (const std::int64_t value : values) {
      check(value == static_cast<int>(value), "axis: got ", value, ", expected a few at most");
      all.push_back(static_cast<int>(value));
    }
    return all;
  }
  /// Two integers, for (height, width); one stands for both.
  [[nodiscard]] std::array<std::int64_t, 2> pair(std::string_view what) const {
    check(values.size() == 1 || values.size() == 2, what, ": got ", values.size(),
          " integers, expected one or two");
    return {values.front(), values.back()};
  }
  /// Of a function that takes f(2, 3) and f((2, 3)).
  [[nodiscard]] static IntList from_arguments(const nanobind::args& arguments) {
    const nanobind::object first = arguments.size() == 1 ? arguments[0] : nanobind::none();
    const bool is_sequence = !PyIndex_Check(first.ptr()) && PySequence_Check(first.ptr()) != 0;
    IntList list;
    for (const nanobind::handle item : is_sequence ? first : nanobind::object(arguments))
      list.values.push_back(integer(item));
    return list;
  }
};

}  // namespace fovea::python

namespace nanobind::detail {

template <>
struct type_caster<fovea::python::IntList> {
  NB_TYPE_CASTER(fovea::python::IntList,
                 io_name("int | collections.abc.Sequence[int]", "tuple[int, ...]"))

  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    value.values.clear();
    if (PyIndex_Check(source.ptr())) return add(source);
    if (!PySequence_Check(source.ptr()) || PyUnicode_Check(source.ptr())) return false;
    const Py_ssize_t count = PySequence_Size(source.ptr());
    for (Py_ssize_t i = 0; i < count; ++i) {
      const object item = steal(PySequence_GetItem(source.ptr(), i));
      if (!item.is_valid() || !add(item)) return forget_error();
    }
    return count >= 0 || forget_error();
  }
  static handle from_cpp(const fovea::python::IntList& list, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(list.values.size()));
    for (std::size_t i = 0; tuple != nullptr && i < list.values.size(); ++i) {
      PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(list.values[i]));
    }
    return tuple;
  }

 private:
  bool add(handle item) noexcept {
    if (!PyIndex_Check(item.ptr())) return false;
    const object number = steal(PyNumber_Index(item.ptr()));
    const long long integer = number.is_valid() ? PyLong_AsLongLong(number.ptr()) : -1;
    if (PyErr_Occurred() != nullptr) return forget_error();
    value.values.push_back(integer);
    return true;
  }
  static bool forget_error() noexcept {
    PyErr_Clear();
    return false;
  }
};

}  // namespace nanobind::detail
