// Arrays of other libraries as tensors.
#pragma once

#include <nanobind/nanobind.h>

#include "engine/tensor.h"

namespace fovea::python {

[[nodiscard]] inline bool is_array(nanobind::handle object) {
  return nanobind::hasattr(object, "__dlpack__");
}

/// A tensor on the array's memory, or a copy where fovea lacks its type.
[[nodiscard]] Tensor from_dlpack(const nanobind::object& array);

}  // namespace fovea::python
