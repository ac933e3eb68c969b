// Attention pooling with a learned query ("map", multi-head attention pooling), as in SigLIP (Zhai
// et al. 2023) and in Zhai et al. 2021, "Scaling Vision Transformers".
#pragma once

#include "models/layers/encoder_config.h"

namespace fovea {

/// p + mlp(norm(p)) with p = proj(attention of the query over the tokens): [B, N, D] -> [B, D].
class AttentionPool {
 public:
  AttentionPool(const Scope& s, const EncoderConfig& c);

  [[nodiscard]] Tensor operator()(const Tensor& tokens, Context& ctx) const;

 private:
  std::int64_t heads_;
  Tensor latent_;  ///< [1, 1, D]
  Linear q_, kv_, proj_;
  Norm norm_;
  Mlp mlp_;
};

}  // namespace fovea
