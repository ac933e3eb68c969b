// Assignment of targets to queries at the least total cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea {

struct MatchedPair {
  std::int64_t query, target;

  friend bool operator==(const MatchedPair&, const MatchedPair&) = default;
};

/// The min(queries, targets) pairs of least total cost, by ascending query; no query and no target
/// occurs twice. cost [queries, targets], row-major. Exact, in O(n^2 m) for n the smaller and m the
/// larger number, by shortest augmenting paths (Jonker and Volgenant 1987). Deterministic; of
/// several minima it returns one. Throws if a cost is not finite.
[[nodiscard]] std::vector<MatchedPair> match(std::span<const double> cost, std::int64_t queries,
                                             std::int64_t targets);

}  // namespace fovea
