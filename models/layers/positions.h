// Positions of the tokens in a block.
#pragma once

#include <vector>

#include "engine/tensor.h"
#include "models/layers/token_grid.h"
#include "ops/rotary.h"

namespace fovea {

/// Information about positions that attention needs besides the tokens.
struct Positions {
  TokenGrid grid{};  ///< used by relative positions only
  /// [1, L, D], added to the input of the queries and keys of block 0; may be undefined.
  Tensor first_qk{};
  ops::Rotation rotation{};             ///< of queries and keys; a block's own has its table
  std::vector<Tensor> rotary_tables{};  ///< of the stack: none, one for all blocks, or one for each

  /// What block `index` of the stack needs.
  [[nodiscard]] Positions of_block(std::int64_t index) const {
    Positions own{grid, index == 0 ? first_qk : Tensor(), rotation};
    if (rotary_tables.empty()) return own;
    const auto last = rotary_tables.size() - 1;
    own.rotation.table = rotary_tables[last == 0 ? 0 : static_cast<std::size_t>(index)];
    return own;
  }
};

}  // namespace fovea
