// The pre-norm transformer block (Dosovitskiy et al. 2020, figure 1), and a stack of them.
#pragma once

#include <vector>

#include "models/context.h"
#include "models/layers/attention.h"
#include "models/layers/branch.h"
#include "models/layers/mlp.h"
#include "models/layers/norm.h"
#include "models/model.h"

namespace fovea {

/// Settings of a stack of equal blocks. Members have the names of the configuration keys.
struct EncoderConfig {
  std::int64_t embed_dim = 192;
  std::int64_t depth = 12;
  std::int64_t num_heads = 3;
  double mlp_ratio = 4;
  bool qkv_bias = true;
  double norm_eps = 1e-6;
  double drop_path = 0;  ///< rate of the last block; block i of n has drop_path i / (n - 1)
  RelativePosition relative = RelativePosition::none;
  double attn_drop_rate = 0;  ///< dropout rate of the attention weights
  double proj_drop_rate =
      0;  ///< dropout rate of the outputs of attention and MLP and of the MLP's hidden layer

  [[nodiscard]] std::int64_t hidden() const {
    return static_cast<std::int64_t>(static_cast<double>(embed_dim) * mlp_ratio);
  }
};

/// Computes x + attention(norm(x)), then x + mlp(norm(x)): [B, L, D] -> [B, L, D]. In training each
/// branch is dropped per image with the block's rate. Taps the output as feat/<index>.
class Block {
 public:
  Block(const Scope& s, const EncoderConfig& c, std::int64_t index);
  /// In training the backward pass may recompute the block (ctx.recompute_blocks), so the block
  /// must outlive it.
  [[nodiscard]] Tensor operator()(const Tensor& x, Context& ctx, const Positions& where = {}) const;

 private:
  [[nodiscard]] Tensor forward(Tensor x, Context& ctx, const Positions& where) const;

  std::int64_t index_;
  DropPath drop_path_;
  LayerNorm norm1_;
  Attention attn_;
  LayerNorm norm2_;
  Mlp mlp_;
};

/// Drop rate of a block, rising linearly from 0 to `last`: linspace(0, last, depth)[index].
[[nodiscard]] double drop_path_of(double last, std::int64_t index, std::int64_t depth);

/// Makes `depth` blocks named 0, 1, ...
[[nodiscard]] std::vector<Block> make_blocks(const Scope& s, const EncoderConfig& c);

}  // namespace fovea
