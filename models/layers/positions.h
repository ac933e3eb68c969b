// Positions of the tokens in a block.
#pragma once

#include "engine/tensor.h"
#include "models/layers/token_grid.h"

namespace fovea {

/// Information about positions that attention needs besides the tokens.
struct Positions {
  TokenGrid grid{};  ///< used by relative positions only
  /// [1, L, D], added to the input of the queries and keys of block 0; may be undefined.
  Tensor first_qk{};

  /// What block `index` of the stack needs.
  [[nodiscard]] Positions of_block(std::int64_t index) const {
    return {grid, index == 0 ? first_qk : Tensor()};
  }
};

}  // namespace fovea
