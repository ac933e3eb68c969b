// The dense head: each patch token to the depths of its pixels.
#pragma once

#include "models/context.h"
#include "models/layers/linear.h"
#include "models/layers/token_grid.h"
#include "ops/view.h"

namespace fovea {

/// Maps patch tokens [B, N, D] -> depths [B, H, W] by a linear layer. The p p values of a token are
/// its patch by rows.
class DepthHead {
 public:
  DepthHead(const Scope& s, std::int64_t dim, std::int64_t patch_size)
      : patch_size_(patch_size), linear_(s, dim, patch_size * patch_size) {}

  [[nodiscard]] Tensor operator()(const Tensor& tokens, const TokenGrid& grid) const {
    const std::int64_t B = tokens.size(0), p = patch_size_;
    const auto [rows, columns] = grid.size;
    const Tensor cut = ops::reshape(linear_(tokens), {B, rows, columns, p, p});
    return ops::reshape(ops::permute(cut, {0, 1, 3, 2, 4}), {B, rows * p, columns * p});
  }

 private:
  std::int64_t patch_size_;
  Linear linear_;
};

}  // namespace fovea
