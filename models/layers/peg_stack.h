// The PEGs of a stack of blocks, each after the block that its position says.
#pragma once

#include <vector>

#include "models/context.h"
#include "models/layers/peg.h"

namespace fovea {

/// Members have the names of the configuration keys with "peg_".
struct PegStackConfig {
  /// Ascending block indices, each followed by a PEG; -1: before all.
  std::vector<std::int64_t> positions{};
  std::int64_t stack = 1;  ///< number of consecutive PEGs at each position
  PegConfig peg;
};

/// PEGs named 0, 1, ... in the order in which they run.
class PegStack {
 public:
  PegStack(const Scope& s, const PegStackConfig& c, std::int64_t dim);

  /// Whether there is a PEG after block `after`.
  [[nodiscard]] bool follow(std::int64_t after) const;

  /// Applies the PEGs after block `after`: [B, L, D] -> [B, L', D]. Updates `grid` to their output.
  /// Taps each output as peg/<j>.
  [[nodiscard]] Tensor operator()(std::int64_t after, Tensor x, TokenGrid& grid,
                                  const Context& ctx) const;

 private:
  PegStackConfig config_;
  std::vector<Peg> pegs_;  ///< ordered by position, config_.stack at each
};

}  // namespace fovea
