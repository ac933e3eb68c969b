// A block as one node of the tape.
#include "models/layers/recompute.h"

#include "engine/autograd.h"

namespace fovea {
namespace {

/// d loss / d x; the gradients of the block's parameters reach their leaves on the way.
Tensor differentiate(const BlockFn& block, const Tensor& x, Context ctx, const Tensor& dy) {
  const Tensor leaf = x.detach();
  leaf.set_requires_grad();
  Tensor y;
  {
    const WithGrad recording;
    // Not the leaf itself enters: gradients of a leaf may be added up inside a product, with
    // other roundings than those of a value on the tape.
    const Tensor entry = record("recompute_entry", leaf.detach(), {leaf}, {},
                                [](const GradArgs& g) -> Grads { return {g.dy}; });
    y = block(entry, ctx);
  }
  backward(y, dy);
  return leaf.grad();
}

}  // namespace

Tensor run_block(const Tensor& x, Context& ctx, const BlockFn& block) {
  // Where nothing below needs a gradient the node would never be visited: the block keeps its tape.
  if (!ctx.recompute_blocks || !needs_tape({x})) return block(x, ctx);
  Context again = ctx;  // at the random numbers that the block is about to draw
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
