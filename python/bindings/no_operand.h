// What a user of numpy puts beside a tensor, and fovea does not convert by itself.
#pragma once

#include <nanobind/nanobind.h>

#include "engine/base/error.h"
#include "python/bindings/dlpack_import.h"

namespace fovea::python {

/// An array of another library, a list or a tuple. Without an overload that refuses it, Python and
/// numpy answer: `==` is False, and errors speak of ufuncs.
struct NoOperand {
  nanobind::handle object;

  [[noreturn]] void refuse(const char* op) const {
    throw nanobind::type_error(
        concat(op, ": got ", nanobind::type_name(object.type()).c_str(),
               ", expected a tensor or a number; fovea.tensor() makes a tensor of it")
            .c_str());
  }
};

}  // namespace fovea::python

namespace nanobind::detail {

template <>
struct type_caster<fovea::python::NoOperand> {
  NB_TYPE_CASTER(fovea::python::NoOperand, const_name("typing.Never"))

  /// Where a conversion to a number has failed.
  bool from_python(handle source, std::uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    value.object = source;
    return (flags & std::uint32_t(cast_flags::convert)) != 0 &&
           (PyList_Check(source.ptr()) || PyTuple_Check(source.ptr()) ||
            fovea::python::is_array(source));
  }
};

}  // namespace nanobind::detail
