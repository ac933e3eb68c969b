// What the loader hands to the trainer.
#pragma once

#include "engine/tensor.h"

namespace fovea {

struct Batch {
  Tensor images;  ///< f32 [B, 3, H, W], normalised; B rows, several of a sample where it is split
  Tensor labels;  ///< i64 [B]
  Tensor indices{};  ///< i64 [B], of the samples in their data set
  Tensor targets{};  ///< what a task makes of labels, f32 [B, ...]: shares of the classes; or none

  [[nodiscard]] std::int64_t size() const { return labels.size(0); }
};

}  // namespace fovea
