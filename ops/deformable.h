// Deformable attention: a weighted sum of bilinear samples of a map (Zhu et al. 2021, "Deformable
// DETR", section 4.1), on one scale.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// y[b, q, h, :] = sum over points p of weights[b, q, h, p] value(x, y)[b, h, :].
/// value [B, h, w, H, D] (height, width, heads, channels), locations [B, Q, H, P, 2] with (x, y)
/// relative to the map, weights [B, Q, H, P] -> [B, Q, H D], of value's dtype.
///
/// The map covers [0, 1] x [0, 1]; cell (i, j) has its centre at ((j + 0.5) / w, (i + 0.5) / h).
/// Between centres the value is bilinear, and cells outside the map are 0. (PyTorch's grid_sample
/// with zeros outside and align_corners=False; its grid is 2 location - 1.) With H = P = 1 and
/// weights of 1, this is bilinear sampling.
///
/// Locations and weights may be wider than a bf16 value: coordinates have few bits in bf16. At a
/// cell centre, where the derivative with respect to the location jumps, it is the one towards
/// larger coordinates. A NaN location gives NaN.
[[nodiscard]] Tensor deformable_attention(const Tensor& value, const Tensor& locations,
                                          const Tensor& weights);

}  // namespace fovea::ops
