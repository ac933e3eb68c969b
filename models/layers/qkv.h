// The linear layer in front of attention's heads.
#pragma once

#include "models/layers/linear.h"

namespace fovea {

/// Queries, keys and values of tokens, side by side: [B, N, C] -> [B, N, 3 C].
class Qkv {
 public:
  Qkv(const Scope& s, std::int64_t dim, bool bias) : dim_(dim), linear_(s, dim, 3 * dim, bias) {}

  /// If `qk_embed` [1, N, C] is defined, q and k are computed from x + qk_embed, and v from x.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& qk_embed) const;
  /// The queries alone, [B, N, C].
  [[nodiscard]] Tensor queries(const Tensor& x) const { return part(x, 0, dim_); }
  /// Keys and values side by side, [B, N, 2 C].
  [[nodiscard]] Tensor keys_values(const Tensor& x) const { return part(x, dim_, 3 * dim_); }

 private:
  /// Outputs [start, stop) of the layer.
  [[nodiscard]] Tensor part(const Tensor& x, std::int64_t start, std::int64_t stop) const;

  std::int64_t dim_;
  Linear linear_;
};

}  // namespace fovea
