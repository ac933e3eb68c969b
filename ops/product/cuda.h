// The kernels of products on CUDA.
#pragma once

#include "ops/product/call.h"

namespace fovea::ops::cuda {

void column_sums(const ColumnSumsCall& c);

}  // namespace fovea::ops::cuda
