// A rotation as the ops of this family check, pass and differentiate it.
#pragma once

#include "ops/attention/call.h"
#include "ops/rotary.h"

namespace fovea::ops {

/// A tensor [B, H, rows, columns] as the kernels read it; undefined tensors are absent.
[[nodiscard]] AttentionView view_of(const Tensor& t);

/// The rotation of a sequence, off the tape, with its table in acc_dtype and packed.
/// `sequence` is [B, H, N, D]; throws where the table or the places do not fit it.
[[nodiscard]] Rotation checked_rotation(const char* op, const Rotation& rotation,
                                        const Shape& sequence, DType dtype);
/// The rotation as the kernels read it.
[[nodiscard]] RotationView view_of(const Rotation& rotation);

/// A turned tensor, before the rotation, and its gradient.
struct TurnedSide {
  Tensor x, dx;  ///< [B, H, N, D]
};
/// The gradient of a table that turned queries and keys, or one tensor.
[[nodiscard]] Tensor table_gradient(const Rotation& rotation,
                                    std::initializer_list<TurnedSide> sides);

}  // namespace fovea::ops
