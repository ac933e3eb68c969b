// The transformer block, and a stack of equal ones.
#pragma once

#include <memory>
#include <vector>

#include "models/context.h"
#include "models/layers/encoder_config.h"
#include "models/layers/positions.h"
#include "models/scope.h"

namespace fovea {

/// The computation of one block, [B, L, D] -> [B, L, D]; one class per value of BlockKind.
class BlockForm {
 public:
  BlockForm() = default;
  virtual ~BlockForm() = default;
  BlockForm(const BlockForm&) = delete;
  BlockForm& operator=(const BlockForm&) = delete;

  [[nodiscard]] virtual Tensor operator()(Tensor x, Context& ctx, const Positions& where) const = 0;
  /// The first `count` tokens of the output, [B, count, D]. By default all are computed.
  [[nodiscard]] virtual Tensor first(Tensor x, std::int64_t count, Context& ctx,
                                     const Positions& where) const;
};

inline constexpr std::int64_t kAllTokens = -1;

/// Applies block `index`: [B, L, D] -> [B, L, D]. In training each branch is dropped per image with
/// the block's rate. Taps the output as feat/<index>.
class Block {
 public:
  Block(const Scope& s, const EncoderConfig& c, std::int64_t index);
  /// In training the backward pass may recompute the block (ctx.recompute_blocks), so the block
  /// must outlive it.
  [[nodiscard]] Tensor operator()(const Tensor& x, Context& ctx, const Positions& where = {}) const;
  /// The first `count` tokens of the output, or kAllTokens: [B, L, D] -> [B, count, D], for a head
  /// that does not read the rest. Of the rest, plain blocks compute only keys and values, about a
  /// sixth of the block. With a tap all tokens are computed and shown.
  [[nodiscard]] Tensor first(const Tensor& x, std::int64_t count, Context& ctx,
                             const Positions& where = {}) const;

 private:
  std::int64_t index_;
  std::unique_ptr<BlockForm> form_;
};

/// Drop rate of a block, rising linearly from 0 to `last`: linspace(0, last, depth)[index].
[[nodiscard]] double drop_path_of(double last, std::int64_t index, std::int64_t depth);

/// Makes `depth` blocks named 0, 1, ...
[[nodiscard]] std::vector<Block> make_blocks(const Scope& s, const EncoderConfig& c);

/// Applies the blocks, the last one by Block::first(): [B, L, D] -> [B, count, D].
[[nodiscard]] Tensor run_blocks(const std::vector<Block>& blocks, Tensor x, std::int64_t count,
                                Context& ctx, const Positions& where);

}  // namespace fovea
