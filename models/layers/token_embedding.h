// What enters the first block: z_0 = [x_class; x_p E] + E_pos (Dosovitskiy et al. 2020, eq. 1).
#pragma once

#include <array>
#include <optional>

#include "models/context.h"
#include "models/layers/learned_token.h"
#include "models/layers/pos_embed.h"
#include "models/layers/positions.h"

namespace fovea {

/// Names are those of the configuration keys.
struct TokenEmbeddingConfig {
  bool class_token = true;
  bool distilled = false;  ///< a second token behind the class token (DeiT)
  PosEmbed pos_embed = PosEmbed::learned;
  bool no_embed_class = false;  ///< the position embedding covers the patches only
  /// The position embedding reaches the queries and keys of the first block and nothing else
  /// (CPVT, appendix D.2).
  bool pos_embed_qk_first = false;
  double pos_drop_rate = 0;  ///< dropout of the tokens that enter the first block

  /// Tokens before the patches.
  [[nodiscard]] std::int64_t prefix() const { return (class_token ? 1 : 0) + (distilled ? 1 : 0); }
};

/// The tokens of images, and where they are.
struct EmbeddedTokens {
  Tensor x;  ///< [B, L, D]
  Positions where;
};

class TokenEmbedding {
 public:
  /// For patches in `grid`. Makes "cls_token", "dist_token" and "pos_embed", where there are such.
  TokenEmbedding(const Scope& s, const TokenEmbeddingConfig& c, std::array<std::int64_t, 2> grid,
                 std::int64_t dim);

  /// patches [B, N, D] that lie in `grid`. Another one than the constructor's must be as
  /// PositionTable::at() allows it.
  [[nodiscard]] EmbeddedTokens operator()(const Tensor& patches, std::array<std::int64_t, 2> grid,
                                          Context& ctx) const;

 private:
  [[nodiscard]] TokenGrid embedded(std::array<std::int64_t, 2> grid) const;
  [[nodiscard]] Tensor with_prefix(const Tensor& patches) const;

  TokenEmbeddingConfig config_;
  std::optional<LearnedToken> cls_token_, dist_token_;
  PositionTable table_;
};

}  // namespace fovea
