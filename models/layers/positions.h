// Where the tokens of a block are.
#pragma once

#include "engine/tensor.h"
#include "models/layers/token_grid.h"

namespace fovea {

/// Where the tokens are, for attention: what the tokens themselves do not say.
struct Positions {
  TokenGrid grid{};  ///< matters to relative positions only
  /// [1, L, D], added to what the queries and keys of block 0 are made of; may be undefined.
  Tensor first_qk{};
};

}  // namespace fovea
