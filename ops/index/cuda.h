// Declarations of the CUDA indexing kernels.
#pragma once

#include "ops/index/call.h"

namespace fovea::ops::cuda {

void relative_gather(const RelativeCall& c);
void relative_sum(const RelativeCall& c);

}  // namespace fovea::ops::cuda
