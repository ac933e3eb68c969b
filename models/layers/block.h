// The transformer block, and a stack of equal ones.
#pragma once

#include <memory>
#include <vector>

#include "models/context.h"
#include "models/layers/encoder_config.h"
#include "models/layers/positions.h"
#include "models/model.h"

namespace fovea {

/// The computation of one block, [B, L, D] -> [B, L, D]; one class per value of BlockKind.
class BlockForm {
 public:
  BlockForm() = default;
  virtual ~BlockForm() = default;
  BlockForm(const BlockForm&) = delete;
  BlockForm& operator=(const BlockForm&) = delete;

  [[nodiscard]] virtual Tensor operator()(Tensor x, Context& ctx, const Positions& where) const = 0;
};

/// Applies block `index`: [B, L, D] -> [B, L, D]. In training each branch is dropped per image with
/// the block's rate. Taps the output as feat/<index>.
class Block {
 public:
  Block(const Scope& s, const EncoderConfig& c, std::int64_t index);
  /// In training the backward pass may recompute the block (ctx.recompute_blocks), so the block
  /// must outlive it.
  [[nodiscard]] Tensor operator()(const Tensor& x, Context& ctx, const Positions& where = {}) const;

 private:
  std::int64_t index_;
  std::unique_ptr<BlockForm> form_;
};

/// Drop rate of a block, rising linearly from 0 to `last`: linspace(0, last, depth)[index].
[[nodiscard]] double drop_path_of(double last, std::int64_t index, std::int64_t depth);

/// Makes `depth` blocks named 0, 1, ...
[[nodiscard]] std::vector<Block> make_blocks(const Scope& s, const EncoderConfig& c);

}  // namespace fovea
