// The heads of an attention layer: what happens between the qkv layer and the output projection.
#pragma once

#include <memory>

#include "engine/base/names.h"
#include "models/context.h"
#include "models/layers/norm.h"
#include "models/layers/positions.h"
#include "models/layers/relative_position.h"

namespace fovea {

enum class AttentionKind {
  attn,  ///< softmax attention
  diff,  ///< the difference of two softmax attentions (Ye et al. 2024, "Differential Transformer")
};
template <>
inline constexpr auto kNames<AttentionKind> = std::to_array<Named<AttentionKind>>(
    {{AttentionKind::attn, "attn"}, {AttentionKind::diff, "diff"}});

struct HeadsConfig {
  std::int64_t dim = 192, heads = 3;
  AttentionKind kind = AttentionKind::attn;
  NormKind qk_norm = NormKind::none;  ///< normalise each head's queries and keys
  double norm_eps = 1e-6;
  RelativePosition relative = RelativePosition::none;  ///< of softmax attention
  double drop_rate = 0;                                ///< dropout rate of the attention weights
  std::int64_t block = 0;                              ///< index of the block
};

/// Maps q, k and v side by side to the concatenated heads: [B, N, 3 C] -> [B, N, C]. Head h owns
/// the channels [h D, (h + 1) D) of each, D = C / heads.
class AttentionHeads {
 public:
  AttentionHeads() = default;
  virtual ~AttentionHeads() = default;
  AttentionHeads(const AttentionHeads&) = delete;
  AttentionHeads& operator=(const AttentionHeads&) = delete;

  [[nodiscard]] virtual Tensor operator()(const Tensor& qkv, Context& ctx,
                                          const Positions& where) const = 0;

  /// Whether few_queries() gives the same as the queries of all tokens.
  [[nodiscard]] virtual bool takes_few_queries(const Context& /*ctx*/) const { return false; }
  /// Maps the queries of the first n tokens q [B, n, C], and k and v of all side by side
  /// [B, N, 2 C], to the concatenated heads of those tokens, [B, n, C].
  [[nodiscard]] virtual Tensor few_queries(const Tensor& q, const Tensor& kv,
                                           const Positions& where) const;
};

/// The heads of an attention layer whose parameters are at `s`.
[[nodiscard]] std::unique_ptr<AttentionHeads> make_heads(const Scope& s, const HeadsConfig& c);

}  // namespace fovea
