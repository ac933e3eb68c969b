// The fixed shuffle of pixel positions by which the Pixel Transformer paper studies locality (sec.
// 6).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/scope.h"

namespace fovea {

struct PermutationConfig {
  std::array<std::int64_t, 2> img_size{224, 224};
  std::int64_t swaps = 0;             ///< T
  std::optional<std::int64_t> delta;  ///< upper bound of |dy| + |dx| for a swapped pair
  std::uint64_t seed = 0;
};

using Swaps = std::vector<std::array<std::int64_t, 2>>;

/// Draws T pairs of different positions, row-major. The pairs are disjoint while that is possible.
[[nodiscard]] Swaps draw_swaps(const PermutationConfig& c);
/// Starts from the identity over `pixels` positions and swaps the entries of each pair in turn.
[[nodiscard]] std::vector<double> apply_swaps(std::int64_t pixels, const Swaps& swaps);
/// Fills an i64 tensor [H W] with the permutation of draw_swaps().
[[nodiscard]] Init permutation_of(const PermutationConfig& c);

}  // namespace fovea
