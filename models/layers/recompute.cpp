// Gradient checkpointing: a block as one node of the tape.
#include "models/layers/recompute.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "engine/autograd.h"
#include "engine/completion.h"
#include "engine/tape_watch.h"

namespace fovea {
namespace {

using Run = std::function<Tensor(std::span<const Tensor> inputs, Context& ctx)>;

/// A leaf in place of an input, and its value for the block. An op separates the two: gradients of
/// a leaf may be accumulated inside a matrix product, which rounds differently from accumulation on
/// the tape.
struct RecomputeInput {
  explicit RecomputeInput(const Tensor& input) : leaf(input.detach()) {
    leaf.set_requires_grad();
    value = record("recompute_entry", leaf.detach(), {leaf}, {},
                   [](const GradArgs& g) -> Grads { return {g.dy}; });
  }
  Tensor leaf, value;
};

/// d loss / d inputs. The gradients of the block's parameters are accumulated into their leaves.
Grads differentiate(const Run& block, std::span<const Tensor> inputs, Context ctx,
                    const Tensor& dy) {
  std::vector<Tensor> leaves, values;
  Tensor y;
  {
    const WithGrad recording;
    for (const Tensor& input : inputs) {
      const RecomputeInput entry(input);
      leaves.push_back(entry.leaf);
      values.push_back(entry.value);
    }
    y = block(values, ctx);
  }
  backward(y, dy);
  Grads gradients;
  for (const Tensor& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

Tensor run_inputs(std::span<const Tensor> inputs, Context& ctx, const Run& block) {
  // If nothing below needs a gradient, the node would never be visited: the block keeps its tape.
  const bool has_tape = std::any_of(inputs.begin(), inputs.end(),
                                    [](const Tensor& input) { return needs_tape({input}); });
  if (!ctx.recompute_blocks || !has_tape) return block(inputs, ctx);
  Context again = ctx;  // a copy that draws the same random numbers as the call below
  again.tap = nullptr;
  Tensor y;
  std::vector<Tensor> leaves;
  {
    const NoGrad not_recording;
    LeafReads read;
    y = block(inputs, ctx);
    leaves = read.leaves();
  }
  y = record("recompute", y, inputs, inputs, [block, again](const GradArgs& g) -> Grads {
    return differentiate(block, g.saved, again, g.dy);
  });
  declare_inner_leaves(y, std::move(leaves));
  return y;
}

}  // namespace

Tensor run_block(const Tensor& x, Context& ctx, const BlockFn& block) {
  const Run run = [block](std::span<const Tensor> inputs, Context& c) {
    return block(inputs[0], c);
  };
  return run_inputs(std::array{x}, ctx, run);
}

Tensor run_block(const Tensor& x, const Tensor& shared, Context& ctx, const SharingBlockFn& block) {
  const Run run = [block](std::span<const Tensor> inputs, Context& c) {
    return block(inputs[0], inputs[1], c);
  };
  return run_inputs(std::array{x, shared}, ctx, run);
}

}  // namespace fovea
