// Position embeddings that are added to the tokens: learned, or a fixed sin-cos table.
#pragma once

#include <array>

#include "engine/base/names.h"
#include "models/context.h"
#include "models/layers/token_grid.h"
#include "models/scope.h"

namespace fovea {

/// rpe2d is not a table of tokens: it is part of attention (relative_position.h).
enum class PosEmbed { learned, sincos, none, rpe2d };
template <>
inline constexpr auto kNames<PosEmbed> =
    std::to_array<Named<PosEmbed>>({{PosEmbed::learned, "learned"},
                                    {PosEmbed::sincos, "sincos"},
                                    {PosEmbed::none, "none"},
                                    {PosEmbed::rpe2d, "rpe2d"}});

/// Fills a table [1, prefix + gh gw, D], D divisible by 4: zero rows for the prefix tokens; for
/// token (y, x) the channels [sin(x w), cos(x w), sin(y w), cos(y w)], w_j = 10000^(-4 j / D).
[[nodiscard]] Init sincos_table(std::array<std::int64_t, 2> grid, std::int64_t prefix);

/// Makes "pos_embed" [1, L, D] for the tokens of `grid`; undefined for kinds that add nothing.
[[nodiscard]] Tensor make_pos_embed(const Scope& s, PosEmbed kind, const TokenGrid& grid,
                                    std::int64_t dim);

/// A model's position table and its grid.
struct PositionTable {
  Tensor values;  ///< [1, L, D] for the tokens of `grid`, or undefined
  PosEmbed kind;
  TokenGrid grid;
  bool any_size = false;  ///< resize a learned table even without ctx.any_size

  /// The table for the tokens of another grid. A sin-cos table is recomputed; a learned one is
  /// resized as timm does for variable image sizes (bicubic, antialiased), and throws unless
  /// any_size or ctx.any_size.
  [[nodiscard]] Tensor at(const TokenGrid& other, const Context& ctx) const;
};

}  // namespace fovea
