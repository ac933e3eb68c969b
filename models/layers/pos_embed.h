// Position embeddings that are not learned (SPEC 1.2).
#pragma once

#include <array>

#include "models/scope.h"

namespace fovea {

enum class PosEmbed { learned, sincos, none };

/// Fills a table [1, prefix + gh gw, D], D divisible by 4: zero rows for the prefix tokens, then
/// for token (y, x) the channels [sin(x w), cos(x w), sin(y w), cos(y w)], w_j = 10000^(-4 j / D).
[[nodiscard]] Init sincos_table(std::array<std::int64_t, 2> grid, std::int64_t prefix);

}  // namespace fovea
