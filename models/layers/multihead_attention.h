// PyTorch's multi-head attention, with its parameter names: queries, keys and values from different
// inputs.
#pragma once

#include <string>

#include "models/layers/attend.h"
#include "models/layers/linear.h"

namespace fovea {

struct MultiheadAttentionConfig {
  std::int64_t dim = 256, heads = 8;
  double dropout = 0;  ///< rate for the attention weights
  std::string tap{};   ///< start of the names under which queries, keys and bias are shown
};

/// out_proj(softmax(q k^T / sqrt(D / H) + bias) v), where in_proj_weight [3 D, D] and in_proj_bias
/// hold the projections of queries, keys and values in this order. Initially Xavier's weights over
/// each whole matrix, and biases 0.
class MultiheadAttention {
 public:
  MultiheadAttention(const Scope& s, const MultiheadAttentionConfig& c);

  /// Attention of x [B, N, D] to itself, where queries and keys are projected from `moved`, x with
  /// its positions added. bias broadcasts to [B, H, N, N], or is undefined.
  [[nodiscard]] Branch within(const Tensor& moved, const Tensor& x, const Tensor& bias,
                              Context& ctx) const;
  /// Attention of queries [B, N, D] to keys and values [B, M, D]; bias broadcasts to [B, H, N, M].
  [[nodiscard]] Branch across(const Tensor& queries, const Tensor& keys, const Tensor& values,
                              const Tensor& bias, Context& ctx) const;

 private:
  [[nodiscard]] Tensor project(const Tensor& x, std::int64_t first, std::int64_t count,
                               const Context& ctx) const;
  [[nodiscard]] Branch attend_heads(const Tensor& queries, const Tensor& keys, const Tensor& values,
                                    const Tensor& bias, Context& ctx) const;

  MultiheadAttentionConfig config_;
  Tensor weight_, bias_;  ///< [3 D, D], [3 D]
  Linear out_proj_;
  Dropout drop_;
};

}  // namespace fovea
