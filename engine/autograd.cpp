// The tape: recording ops, and walking it backwards by the chain rule.
//
// Write dx for d root / dx. If an op computed y = f(x_1, ..., x_n), then each of its inputs gets
//
//     dx_i += dy * df/dx_i
//
// and the dx of a tensor is complete once every op that read it has added its term. Those ops were
// recorded later than the op that made the tensor. So backward() starts at the root, whose gradient
// is 1 or the cotangent, and visits the ops in reverse order of recording: each dy is complete when
// its op is visited.
//
// Nodes are in node.h, watchers in tape_watch.h and completion.h.
#include "engine/autograd.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "engine/completion.h"
#include "engine/copy.h"
#include "engine/node.h"
#include "engine/profile.h"
#include "engine/tape_watch.h"
#include "engine/tensor_impl.h"

namespace fovea {
namespace {

bool is_recorded(std::span<const Tensor> inputs) {
  if (!grad_enabled()) return false;
  for (const Tensor& t : inputs) {
    if (t.defined() && t.requires_grad()) return true;
  }
  return false;
}

/// Whether no other handle sees this gradient, so that it may be added to in place.
bool owned(const Tensor& t) {
  return t.impl().use_count() == 1 && t.storage().unique() && t.is_contiguous();
}

/// sum += term, without writing to a buffer that others share.
void accumulate(Tensor& sum, Tensor term) {
  if (!sum.defined()) {
    sum = std::move(term);
  } else if (owned(sum)) {
    add_into(sum, term);
  } else if (term.dtype() == sum.dtype() && owned(term)) {
    add_into(term, sum);
    sum = std::move(term);
  } else {
    sum = sum.clone();
    add_into(sum, term);
  }
}

/// The same for the gradient of a leaf, whose buffer stays where it is: others may hold a handle.
void accumulate_leaf(const Tensor& leaf, Tensor term) {
  TensorImpl& impl = *leaf.impl();
  if (LateSums::give(term, impl.grad)) return;
  if (impl.grad.defined()) {
    add_into(impl.grad, term);
  } else {
    impl.grad = owned(term) ? std::move(term) : term.clone();
  }
}

/// A node to visit, with what has arrived of its dy.
struct Visit {
  std::shared_ptr<Node> node;
  Tensor dy;
};
/// The nodes to visit, the latest first.
using Frontier = std::map<std::uint64_t, Visit, std::greater<>>;

/// Adds a term to the gradient of the tensor that it belongs to, after undoing a broadcast.
void deliver(const Tensor& x, Tensor term, std::string_view op, Frontier& frontier) {
  check(term.dtype() == x.dtype(), op, ": the derivative gave a gradient of ",
        to_string(term.dtype()), " for an input of ", to_string(x.dtype()));
  term = LateSums::without_broadcast(x, term);
  if (x.is_leaf()) return accumulate_leaf(x, std::move(term));
  Visit& visit = frontier[x.node()->sequence];
  visit.node = x.node();
  accumulate(visit.dy, std::move(term));
}

/// dx_i += dy * df/dx_i for the inputs of one op.
void visit_node(const Node& node, const Tensor& grad, RecomputedOutputs& outputs,
                Frontier& frontier) {
  const OpsOfTheirOwn apart;
  const RunningOp naming(node.name.data());
  const std::vector<Tensor> saved = node.saved_tensors(outputs);
  const Tensor dy = grad.contiguous();
  const GradArgs::Sums sums = [&frontier](const Tensor& x) {
    const auto there = frontier.find(x.node()->sequence);
    return there != frontier.end() && owned(there->second.dy) ? there->second.dy : Tensor();
  };
  Grads dx = node.backward(GradArgs(node, dy, saved, sums));
  check(dx.size() == node.inputs.size(), node.name, ": the derivative gave ", dx.size(),
        " gradients for ", node.inputs.size(), " inputs");
  tell_differentiated(node, dx);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const Tensor& x = node.inputs[i];
    if (dx[i].defined() && x.requires_grad()) deliver(x, std::move(dx[i]), node.name, frontier);
  }
}

}  // namespace

Tensor record(const OpLabel& op, Tensor output, std::initializer_list<Tensor> inputs,
              std::initializer_list<Tensor> saved, BackwardFn backward) {
  return record(op, std::move(output), std::span(inputs.begin(), inputs.size()),
                std::span(saved.begin(), saved.size()), std::move(backward));
}

Tensor record(const OpLabel& op, Tensor output, std::span<const Tensor> inputs,
              std::span<const Tensor> saved, BackwardFn backward) {
  if (is_recorded(inputs)) {
    auto node = std::make_shared<Node>(op, output, inputs, saved, std::move(backward));
    if (output.requires_grad()) output = output.detach();  // an op that returned its input
    output.impl()->node = std::move(node);
  }
  tell_recorded(op, inputs, output);
  return output;
}

Tensor record_constant(const OpLabel& op, const Tensor& output,
                       std::initializer_list<Tensor> inputs) {
  tell_recorded(op, std::span(inputs.begin(), inputs.size()), output);
  return output;
}

bool needs_tape(std::initializer_list<Tensor> inputs) {
  return is_recorded(std::span(inputs.begin(), inputs.size()));
}

void backward(const Tensor& root, const Tensor& cotangent, Tape tape) {
  check(root.requires_grad(), "backward: the tensor of shape ", root.shape(),
        " does not depend on anything that requires a gradient");
  check(cotangent.defined() || root.numel() == 1, "backward: a root of shape ", root.shape(),
        " needs a cotangent of the same shape");
  check(!cotangent.defined() || cotangent.shape() == root.shape(), "backward: cotangent ",
        cotangent.defined() ? cotangent.shape() : Shape{}, " for a root of shape ", root.shape());
  const NoGrad no_grad;
  const CompletionOrder completion(root);
  Tensor seed = cotangent.defined() ? cotangent.detach().to(root.dtype())
                                    : ones(root.shape(), root.options());
  RecomputedOutputs outputs;
  const LateSums late;
  Frontier frontier;
  deliver(root, std::move(seed), "backward", frontier);
  while (!frontier.empty()) {
    const Visit visit = std::move(frontier.begin()->second);
    frontier.erase(frontier.begin());
    const ProfileScope scope(visit.node->name, "backward");
    outputs.reached(*visit.node);
    visit_node(*visit.node, visit.dy, outputs, frontier);
    if (tape == Tape::freed) visit.node->free();
    completion.passed(*visit.node);
  }
  LateSums::finish();  // errors are thrown here, not lost in the destructor
}

}  // namespace fovea
