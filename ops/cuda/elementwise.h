// Elementwise functors on CUDA; a build without CUDA links stubs from no_cuda.cpp.
#pragma once

#include "ops/detail/elementwise.h"

namespace fovea::cuda {

/// Runs AllFunctors[functor_id] over the call, whose pointers are device pointers.
void map(int functor_id, const ops::detail::MapCall& call, int device);

}  // namespace fovea::cuda
