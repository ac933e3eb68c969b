// The condition of a diffusion model: vectors for the time step and the class of each image, in the
// dtype of the residual stream, because its rounding errors reach all tokens of the image.
#pragma once

#include "models/context.h"
#include "models/layers/linear.h"

namespace fovea {

/// Embeds time steps t [B] -> [B, D]: waves [cos(t f), sin(t f)] of 128 frequencies f from 1 down
/// to almost 1 / 10000, then two linear layers with a SiLU between them. t may be fractional.
class TimestepEmbedding {
 public:
  TimestepEmbedding(const Scope& s, std::int64_t dim);

  [[nodiscard]] Tensor operator()(const Tensor& t, const Context& ctx) const;

 private:
  Linear fc1_, fc2_;
  Tensor frequencies_;  ///< f64 [128]: f32 would round the waves of late steps
};

/// Embeds classes y i64 [B] -> [B, D]. A null class, the last row, stands for "any class".
class LabelEmbedding {
 public:
  LabelEmbedding(const Scope& s, std::int64_t num_classes, bool has_null, std::int64_t dim);

  [[nodiscard]] Tensor operator()(const Tensor& y, const Context& ctx) const;

 private:
  Tensor table_;
};

}  // namespace fovea
