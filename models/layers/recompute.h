// Gradient checkpointing (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016): a
// block's inner values are not kept for its derivative but computed again when it is asked for.
#pragma once

#include <functional>

#include "models/context.h"

namespace fovea {

using BlockFn = std::function<Tensor(const Tensor& x, Context& ctx)>;

/// block(x, ctx), or the same without its tape where ctx.recompute_blocks says so: then the
/// backward pass runs `block` once more, with the random numbers of the first time, and its bits
/// are those of the plain pass. `block` is copied and must not outlive what it refers to: the
/// model. It may draw from ctx but must not change any state.
[[nodiscard]] Tensor run_block(const Tensor& x, Context& ctx, const BlockFn& block);

}  // namespace fovea
