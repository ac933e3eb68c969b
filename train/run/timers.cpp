// Counting products by the tape's events.
#include "train/run/timers.h"

#include "engine/node.h"

namespace fovea {
namespace {

/// How many factors of a product get a gradient. Attention's are all activations; every other
/// product has its factors first among its inputs.
int factors_with_gradients(const Node& node) {
  if (node.name.ends_with("attention")) return 2;
  return static_cast<int>(node.inputs[0].requires_grad()) +
         static_cast<int>(node.inputs[1].requires_grad());
}

}  // namespace

void ForwardProducts::recorded(const OpLabel& op, std::span<const Tensor> /*inputs*/,
                               const Tensor& /*output*/) {
  flop_ += 2 * static_cast<double>(op.multiply_adds);
}

void BackwardProducts::differentiated(const Node& node, std::span<const Tensor> /*gradients*/) {
  if (node.multiply_adds == 0) return;
  flop_ += 2.0 * factors_with_gradients(node) * static_cast<double>(node.multiply_adds);
}

}  // namespace fovea
