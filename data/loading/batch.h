// What the loader hands to the trainer.
#pragma once

#include "engine/tensor.h"

namespace fovea {

struct Batch {
  Tensor images;  ///< f32 [B, 3, H, W], normalised; B rows, several of a sample where it is split
  Tensor labels;  ///< i64 [B]
  Tensor indices{};  ///< i64 [B], of the samples in their data set
  Tensor targets{};  ///< f32 [B, ...], of a task that wants more than a label: shares of the
                     ///< classes where images are mixed; or none
  Tensor noise{};  ///< what a task draws for each image, f32 [B, ...]: which patches hide; or none

  [[nodiscard]] std::int64_t size() const { return images.defined() ? images.size(0) : 0; }
};

/// The batch where a model on `device` reads it: all but the indices, by upload().
[[nodiscard]] Batch uploaded(const Batch& batch, Device device);

}  // namespace fovea
