// Position embeddings that are added to the tokens: learned, or a fixed table of sines.
#pragma once

#include <array>

#include "base/names.h"
#include "models/context.h"
#include "models/layers/token_grid.h"
#include "models/scope.h"

namespace fovea {

/// rpe2d is no table of tokens: attention has it (relative_position.h).
enum class PosEmbed { learned, sincos, none, rpe2d };
template <>
inline constexpr auto kNames<PosEmbed> =
    std::to_array<Named<PosEmbed>>({{PosEmbed::learned, "learned"},
                                    {PosEmbed::sincos, "sincos"},
                                    {PosEmbed::none, "none"},
                                    {PosEmbed::rpe2d, "rpe2d"}});

/// Fills a table [1, prefix + gh gw, D], D divisible by 4: zero rows for the prefix tokens, then
/// for token (y, x) the channels [sin(x w), cos(x w), sin(y w), cos(y w)], w_j = 10000^(-4 j / D).
[[nodiscard]] Init sincos_table(std::array<std::int64_t, 2> grid, std::int64_t prefix);

/// "pos_embed" [1, L, D] for the tokens of `grid`, undefined where there is none to add.
[[nodiscard]] Tensor make_pos_embed(const Scope& s, PosEmbed kind, const TokenGrid& grid,
                                    std::int64_t dim);

/// A model's table and what it is for.
struct PositionTable {
  Tensor values;  ///< [1, L, D] for the tokens of `grid`, or undefined
  PosEmbed kind;
  TokenGrid grid;

  /// The same for the tokens of another grid: computed anew, or learned values resized as timm does
  /// where images vary in size (bicubic, antialiased); the latter throws unless ctx.any_size.
  [[nodiscard]] Tensor at(const TokenGrid& other, const Context& ctx) const;
};

}  // namespace fovea
