// What a branch of a block is added to.
#pragma once

#include "engine/step_key.h"
#include "engine/tensor.h"

namespace fovea {

/// x + drop_path(branch): whole images of the branch are dropped with probability `rate`, which is
/// 0 in evaluation. x is [B, ...], as the branch; where nothing is dropped it may be undefined,
/// which leaves the branch alone.
struct Residual {
  Tensor x{};
  double rate = 0;
  StepKey key{};
};

}  // namespace fovea
