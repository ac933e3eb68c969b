// Declarations of the CUDA attention kernels.
#pragma once

#include "ops/attention/call.h"

namespace fovea::ops::cuda {

void attention_forward(const AttentionCall& c);
void attention_backward(const AttentionGradCall& c);

}  // namespace fovea::ops::cuda
