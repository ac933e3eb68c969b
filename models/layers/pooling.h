// Pooling: how the tokens of the last block are reduced to one vector for the head.
#pragma once

#include <optional>

#include "engine/base/names.h"
#include "models/layers/attention_pool.h"
#include "models/layers/block.h"

namespace fovea {

enum class Pooling {
  token,   ///< the class token
  avg,     ///< the mean of the patch tokens
  avgmax,  ///< half their mean and half their maximum
  max,     ///< their maximum per channel
  map,     ///< attention over them by a learned query
  none,    ///< all tokens as they are: features
};
template <>
inline constexpr auto kNames<Pooling> = std::to_array<Named<Pooling>>({{Pooling::token, "token"},
                                                                       {Pooling::avg, "avg"},
                                                                       {Pooling::avgmax, "avgmax"},
                                                                       {Pooling::max, "max"},
                                                                       {Pooling::map, "map"},
                                                                       {Pooling::none, "none"}});

/// True if the final norm acts on the pooled vector by default, as in timm.
[[nodiscard]] constexpr bool norms_pooled(Pooling pooling) {
  return pooling == Pooling::avg || pooling == Pooling::avgmax || pooling == Pooling::max;
}

struct PoolConfig {
  Pooling kind = Pooling::token;
  /// Number of first tokens, class and registers, that are not pooled. `token` reads the first
  /// token, and `none` leaves none out.
  std::int64_t prefix;
  std::int64_t map_heads = 0;  ///< of `map`; 0: those of the blocks
  double map_mlp_ratio = 0;    ///< of `map`; 0: that of the blocks
};

/// Pools in two steps, between which the model normalises: the choice of tokens, x [B, L, D] ->
/// [B, N, D], and their reduction to a vector [B, D].
class TokenPool {
 public:
  /// `s` is for the parameters of `map`; only `map` has any.
  TokenPool(const Scope& s, const EncoderConfig& c, const PoolConfig& pool);

  /// Number of the last block's first tokens that choose() needs, or kAllTokens.
  [[nodiscard]] std::int64_t needs() const;
  /// The tokens that are pooled: the class token [B, D]; for other kinds [B, N, D].
  [[nodiscard]] Tensor choose(const Tensor& x) const;
  /// Reduces them to [B, D]. The class token and, with `none`, all tokens stay as they are.
  [[nodiscard]] Tensor operator()(const Tensor& chosen, Context& ctx) const;

 private:
  PoolConfig config_;
  std::optional<AttentionPool> map_;
};

/// The tokens after the prefix: [B, prefix + N, D] -> [B, N, D].
[[nodiscard]] Tensor without_prefix(const Tensor& x, std::int64_t prefix);

}  // namespace fovea
