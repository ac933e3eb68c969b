// Gradient checkpointing: a block as one node of the tape.
#include "models/layers/recompute.h"

#include "engine/autograd.h"

namespace fovea {
namespace {

/// d loss / d x. The gradients of the block's parameters are accumulated into their leaves.
Tensor differentiate(const BlockFn& block, const Tensor& x, Context ctx, const Tensor& dy) {
  const Tensor leaf = x.detach();
  leaf.set_requires_grad();
  Tensor y;
  {
    const WithGrad recording;
    // An op separates the leaf from the block: gradients of a leaf may be accumulated inside a
    // matrix product, which rounds differently from accumulation on the tape.
    const Tensor entry = record("recompute_entry", leaf.detach(), {leaf}, {},
                                [](const GradArgs& g) -> Grads { return {g.dy}; });
    y = block(entry, ctx);
  }
  backward(y, dy);
  return leaf.grad();
}

}  // namespace

Tensor run_block(const Tensor& x, Context& ctx, const BlockFn& block) {
  // If nothing below needs a gradient, the node would never be visited: the block keeps its tape.
  if (!ctx.recompute_blocks || !needs_tape({x})) return block(x, ctx);
  Context again = ctx;  // a copy that draws the same random numbers as the call below
  again.tap = nullptr;
  Tensor y;
  {
    const NoGrad not_recording;
    y = block(x, ctx);
  }
  return record("recompute", y, {x}, {x}, [block, again](const GradArgs& g) -> Grads {
    return {differentiate(block, g.saved[0], again, g.dy)};
  });
}

}  // namespace fovea
