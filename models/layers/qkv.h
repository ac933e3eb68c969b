// The linear layers in front of attention's heads.
#pragma once

#include <optional>

#include "engine/base/names.h"
#include "models/layers/linear.h"

namespace fovea {

/// Which biases the queries, keys and values have, by the names of timm's attn_type.
enum class QkvBias {
  all,     ///< of all three, as in timm's Attention and AttentionRope
  no_key,  ///< of queries and values, as in EVA
};
template <>
inline constexpr auto kNames<QkvBias> = std::to_array<Named<QkvBias>>({{QkvBias::all, "rope"},
                                                                       {QkvBias::no_key, "eva"}});

struct QkvConfig {
  std::int64_t dim = 192, heads = 3;
  std::int64_t kv_heads = 3;  ///< each serves heads / kv_heads heads of queries
  bool bias = true;
  QkvBias biases = QkvBias::all;
  bool fused = true;  ///< one weight "qkv", otherwise "q_proj", "k_proj" and "v_proj"
};

/// Queries, keys and values of tokens, side by side: [B, N, C] -> [B, N, 3 C].
class Qkv {
 public:
  /// Makes the parameters of an attention layer at `attn`.
  Qkv(const Scope& attn, const QkvConfig& c);

  /// If `qk_embed` [1, N, C] is defined, q and k are computed from x + qk_embed, and v from x.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& qk_embed) const;
  [[nodiscard]] bool is_fused() const { return config_.fused; }
  /// The queries alone, [B, N, C], of a fused layer.
  [[nodiscard]] Tensor queries(const Tensor& x) const { return part(x, 0, config_.dim); }
  /// Keys and values side by side, [B, N, 2 C], of a fused layer.
  [[nodiscard]] Tensor keys_values(const Tensor& x) const {
    return part(x, config_.dim, 3 * config_.dim);
  }

 private:
  /// Outputs [start, stop) of the fused layer.
  [[nodiscard]] Tensor part(const Tensor& x, std::int64_t start, std::int64_t stop) const;
  [[nodiscard]] Tensor project(const Tensor& x) const;
  /// [3 C] or undefined.
  [[nodiscard]] Tensor fused_bias() const;
  /// Each head of keys or values [B, N, kv_heads D] as often as it serves: [B, N, C].
  [[nodiscard]] Tensor repeated(const Tensor& x) const;

  QkvConfig config_;
  Tensor weight_, bias_;    ///< fused: [3 C, C] and, of all three, [3 C]
  Tensor q_bias_, v_bias_;  ///< fused, without the keys': [C] each
  std::optional<Linear> q_, k_, v_;
};

}  // namespace fovea
