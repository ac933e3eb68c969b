// Declarations of the CUDA normalisation kernels.
#pragma once

#include "ops/norm/call.h"

namespace fovea::ops::cuda {

void layer_norm(const LayerNormCall& c);
void layer_norm_grad(const LayerNormGradCall& c);

}  // namespace fovea::ops::cuda
