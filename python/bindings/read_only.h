// Memory that Python lends for reading alone, such as that of a read-only numpy array.
#pragma once

#include <cstddef>

#include "engine/tensor.h"

namespace fovea::python {

/// From lend_read_only() to end_read_only() with the address of a storage, its tensors are
/// read-only. The same memory may be lent several times.
void lend_read_only(const std::byte* storage);
void end_read_only(const std::byte* storage);

[[nodiscard]] bool is_read_only(const Tensor& t);
/// Throws in the name of `op`. Call it before every write on behalf of Python.
void require_not_read_only(const char* op, const Tensor& t);

}  // namespace fovea::python
