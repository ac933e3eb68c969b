// Gradient checkpointing (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016): a
// block's intermediate values are recomputed for the backward pass instead of stored.
#pragma once

#include <functional>

#include "models/context.h"

namespace fovea {

using BlockFn = std::function<Tensor(const Tensor& x, Context& ctx)>;
/// A block that also reads a value which all blocks share, such as the condition of each image.
using SharingBlockFn = std::function<Tensor(const Tensor& x, const Tensor& shared, Context& ctx)>;

/// Runs block(x, ctx). If ctx.recompute_blocks is set, the block runs without a tape, and the
/// backward pass runs it again with the same random numbers; the bits equal those of the plain
/// pass. `block` is copied and must not outlive the model that it refers to. It may draw keys from
/// ctx but must not change any state, and must not refer to values with a tape besides its inputs.
[[nodiscard]] Tensor run_block(const Tensor& x, Context& ctx, const BlockFn& block);
[[nodiscard]] Tensor run_block(const Tensor& x, const Tensor& shared, Context& ctx,
                               const SharingBlockFn& block);

}  // namespace fovea
