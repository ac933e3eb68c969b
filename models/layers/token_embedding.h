// Input of the first block: z_0 = [x_class; x_p E] + E_pos (Dosovitskiy et al. 2020, eq. 1).
#pragma once

#include <array>
#include <optional>

#include "models/context.h"
#include "models/layers/learned_token.h"
#include "models/layers/pos_embed.h"
#include "models/layers/positions.h"

namespace fovea {

/// Members have the names of the configuration keys.
struct TokenEmbeddingConfig {
  bool class_token = true;
  std::int64_t reg_tokens = 0;  ///< register tokens after the class token (Darcet et al. 2023)
  bool distilled = false;       ///< add a second token after the class token (DeiT)
  PosEmbed pos_embed = PosEmbed::learned;
  bool no_embed_class = false;  ///< the position embedding covers only the patches
  /// Add the position embedding only to the queries and keys of the first block (CPVT, appendix
  /// D.2).
  bool pos_embed_qk_first = false;
  double pos_drop_rate = 0;  ///< dropout rate of the tokens that enter the first block
  bool any_size = false;     ///< resize the position embedding to other grids without ctx.any_size

  /// Number of prefix tokens before the patches.
  [[nodiscard]] std::int64_t prefix() const {
    return (class_token ? 1 : 0) + (distilled ? 1 : 0) + reg_tokens;
  }
};

/// The tokens of images and their positions.
struct EmbeddedTokens {
  Tensor x;  ///< [B, L, D]
  Positions where;
};

class TokenEmbedding {
 public:
  /// Makes the embedding for patches in `grid`, with those of "cls_token", "dist_token",
  /// "reg_token" and "pos_embed" that `c` selects.
  TokenEmbedding(const Scope& s, const TokenEmbeddingConfig& c, std::array<std::int64_t, 2> grid,
                 std::int64_t dim);

  /// Embeds patches [B, N, D] laid out in `grid`. A grid other than the constructor's is subject to
  /// PositionTable::at().
  [[nodiscard]] EmbeddedTokens operator()(const Tensor& patches, std::array<std::int64_t, 2> grid,
                                          Context& ctx) const;

 private:
  [[nodiscard]] TokenGrid embedded(std::array<std::int64_t, 2> grid) const;
  [[nodiscard]] Tensor with_prefix(const Tensor& patches) const;

  TokenEmbeddingConfig config_;
  std::optional<LearnedToken> cls_token_, dist_token_;
  Tensor reg_token_;  ///< [1, R, D] or undefined
  PositionTable table_;
};

}  // namespace fovea
