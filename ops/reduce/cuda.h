// Declarations of the CUDA reduction kernels.
#pragma once

#include "ops/reduce/call.h"

namespace fovea::ops::cuda {

void partial_sums(const PartialsCall& c);
void l1_normalize(const L1NormalizeCall& c);
void l1_normalize_grad(const L1NormalizeCall& c);

}  // namespace fovea::ops::cuda
