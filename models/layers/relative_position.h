// Relative position encodings of attention: a learned vector per offset between query and key.
// Their terms depend on the queries, so the N x N logits are stored.
#pragma once

#include <memory>

#include "models/layers/token_grid.h"
#include "models/scope.h"

namespace fovea {

enum class RelativePosition {
  none,
  rpe2d,  ///< Shaw et al. 2018 in two dimensions, on keys and values: CPVT's baseline
  irpe,   ///< Wu et al. 2021, contextual product on keys: PerViT's baseline
};

/// Bucket index of every pair of tokens, [K, L, L]; negative for none. Cached for the last grid.
/// rpe2d: K = 2, clip(y_j - y_i, -8, 8) + 8 and 17 + clip(x_j - x_i, -8, 8) + 8, none for prefix
/// tokens.
/// irpe: K = 1, (g(y_i - y_j) + 3) 7 + g(x_i - x_j) + 3, 49 for prefix tokens.
[[nodiscard]] Tensor relative_buckets(RelativePosition kind, const TokenGrid& grid,
                                      Device device = {});

/// The tables of one attention layer, shared by all heads.
class RelativeTables {
 public:
  RelativeTables(const Scope& attn, RelativePosition kind, std::int64_t head_dim);

  /// Term added to the logits: (q_i a^K_ij) / sqrt(d). q [B, H, L, d] -> [B, H, L, L].
  [[nodiscard]] Tensor logits(const Tensor& q, const TokenGrid& grid) const;
  /// Attention over v_j + a^V_ij, heads concatenated. qkv [B, L, 3 H d], bias = logits(q) ->
  /// [B, L, H d].
  [[nodiscard]] Tensor attend(const Tensor& qkv, std::int64_t heads, const Tensor& bias,
                              const TokenGrid& grid) const;

  /// Number of vectors in a table.
  [[nodiscard]] static std::int64_t vectors(RelativePosition kind);

 private:
  RelativePosition kind_;
  Tensor lookup_;         ///< irpe: [1, d, 50]
  Tensor key_h_, key_w_;  ///< rpe2d: [17, d] each
  Tensor value_h_, value_w_;
};

/// Part `index` (0 q, 1 k, 2 v) of qkv [B, L, 3 H d] as [B, H, L, d].
[[nodiscard]] Tensor heads_of(const Tensor& qkv, std::int64_t heads, std::int64_t index);

}  // namespace fovea
