// Input checks of the losses, and the dtypes that they compute in.
#pragma once

#include <string_view>

#include "engine/autograd.h"
#include "ops/common/rows.h"

namespace fovea::ops::detail {

/// x off the tape, packed, in f32 or f64.
[[nodiscard]] inline Tensor wide(const Tensor& x) {
  return detached_contiguous(x).to(acc_dtype(x.dtype()));
}

inline void require_matrix(std::string_view op, const Tensor& logits) {
  require_float(op, logits);
  check(logits.rank() == 2, op, ": got logits of shape ", logits.shape(), ", expected [B, K]");
}

inline void require_same_shape(std::string_view op, const Tensor& x, const Tensor& target) {
  require_one_device(op, {x, target});
  require_float(op, x);
  require_float(op, target);
  check(x.shape() == target.shape(), op, ": got shapes ", x.shape(), " and ", target.shape(),
        ", expected equal shapes");
}

/// Throws when the tape would miss a gradient: losses give none to `what`.
inline void require_constant(std::string_view op, std::string_view what, const Tensor& t) {
  check(!needs_tape({t}), op, ": the ", what,
        " require a gradient, but this loss gives them none; pass detach(), or write the loss with "
        "elementwise ops");
}

/// A target of the same shape as x, off the tape.
inline void require_target(std::string_view op, const Tensor& x, const Tensor& target) {
  require_same_shape(op, x, target);
  require_constant(op, "targets", target);
}

/// Scratch memory of a kernel for `count` sums.
[[nodiscard]] inline Tensor parts_of(const Tensor& x, std::int64_t count) {
  return empty({count}, {DType::f64, x.device()});
}

}  // namespace fovea::ops::detail
