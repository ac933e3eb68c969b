// Floating-point operations of the products that a training step computes: linear layers, other
// matrix multiplications, convolutions, attention. A multiply-add counts as two.
#pragma once

#include "engine/tape_watch.h"

namespace fovea {

/// Adds to `flop` what the forward passes of this thread compute while it is alive, also without a
/// tape (frozen layers, a teacher).
class ForwardProducts final : public TapeWatcher {
 public:
  explicit ForwardProducts(double& flop) : flop_(flop) {}

 private:
  void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override;

  double& flop_;
};

/// Adds to `flop` what the backward passes of this thread need while it is alive: for each factor
/// of a product that gets a gradient, as much as the product. The model FLOPs utilisation of the
/// literature does not count what is computed again, scores of attention and recomputed blocks,
/// nor does this.
class BackwardProducts final : public TapeWatcher {
 public:
  explicit BackwardProducts(double& flop) : flop_(flop) {}

 private:
  void differentiated(const Node& node, std::span<const Tensor> gradients) override;

  double& flop_;
};

}  // namespace fovea
