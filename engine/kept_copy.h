// The copy in another dtype that Tensor::cached_to() keeps, for code that changes a tensor and can
// write both.
#pragma once

#include "engine/tensor.h"

namespace fovea {

/// The copy of t that cached_to(dtype) would return or convert anew, if there is one that nothing
/// else refers to; undefined otherwise.
[[nodiscard]] Tensor kept_copy(const Tensor& t, DType dtype);
/// Says that kept_copy() holds t's present values.
void set_copy_current(const Tensor& t);
/// Makes `copy`, which has t's present values in another dtype, the one that t keeps.
void keep_copy(const Tensor& t, Tensor copy);
/// The kept copy if it has t's present values, whatever else refers to it; undefined otherwise.
[[nodiscard]] Tensor current_copy(const Tensor& t);
/// Converts the copy that t keeps again, if it has former values.
void refresh_copy(const Tensor& t);
/// t in another dtype: the kept copy if it has the present values, else converted, but not kept.
[[nodiscard]] Tensor converted(const Tensor& t, DType dtype);

}  // namespace fovea
