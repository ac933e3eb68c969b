// Weight and bias of a normalisation: optional, and possibly f32 with bf16 activations.
#pragma once

#include <string_view>

#include "ops/common/rows.h"

namespace fovea::ops::detail {

/// Throws unless `parameter` is undefined or has shape [channels] and a float dtype.
inline void require_affine(std::string_view op, std::string_view name, const Tensor& parameter,
                           std::int64_t channels) {
  if (!parameter.defined()) return;
  require_float(op, parameter);
  check(parameter.shape() == Shape{channels}, op, ": got ", name, " of shape ", parameter.shape(),
        ", expected [", channels, "]");
}

/// `parameter` off the tape, packed, in the kernels' compute dtype; filled with `absent` when
/// undefined.
[[nodiscard]] inline Tensor affine_or(const Tensor& parameter, const Shape& shape, double absent,
                                      TensorOptions options) {
  if (!parameter.defined()) return full(shape, absent, options);
  return detached_contiguous(parameter).to(options.dtype);
}

}  // namespace fovea::ops::detail
