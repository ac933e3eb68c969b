// Arguments of the deformable attention kernels. Tensors are packed. Locations, weights and all
// gradients but dy are in the accumulation type of `dtype`.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

struct DeformableCall {
  DType dtype = DType::f32;
  std::int64_t batch = 0, height = 0, width = 0, heads = 0, channels = 0;
  std::int64_t queries = 0, points = 0;
  const void* value = nullptr;      ///< [batch, height, width, heads, channels]
  const void* locations = nullptr;  ///< [batch, queries, heads, points, 2]
  const void* weights = nullptr;    ///< [batch, queries, heads, points]
  void* y = nullptr;                ///< [batch, queries, heads, channels]
};

struct DeformableGradCall {
  DeformableCall forward;    ///< without y
  const void* dy = nullptr;  ///< like y
  void* dvalue = nullptr;    ///< like value, zero on entry; null if it is not wanted
  void* dlocations = nullptr;
  void* dweights = nullptr;
};

struct DeformableKernels {
  Kernel<DeformableCall> forward;
  Kernel<DeformableGradCall> backward;
};

}  // namespace fovea::ops
