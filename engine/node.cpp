// Making a node, reading what it saved, and freeing it without recursion.
#include "engine/node.h"

#include <atomic>
#include <iterator>
#include <memory>
#include <utility>

#include "engine/tape_watch.h"
#include "engine/tensor_impl.h"

namespace fovea {
namespace {

std::atomic<std::uint64_t> next_sequence{1};

/// The tape's handle of an input: a leaf that receives a gradient is kept, everything else
/// without its values, which live on only if `saved` has them. An omitted input is a constant.
Tensor edge_to(const Tensor& input) {
  if (input.defined() && input.is_leaf() && input.requires_grad()) return input;
  auto edge = std::make_shared<TensorImpl>();
  if (input.defined()) {
    edge->shape = input.shape();
    edge->dtype = input.dtype();
    edge->node = input.node();
    edge->name = input.name();
  }
  return Tensor(std::move(edge));
}

std::shared_ptr<const Recomputation> recomputation_of(const Tensor& t) {
  if (t.node() == nullptr || t.node()->recomputation == nullptr) return nullptr;
  const bool is_unchanged = t.version() == t.node()->recomputation->version;
  return is_unchanged ? t.node()->recomputation : nullptr;
}

}  // namespace

SavedTensor::SavedTensor(const Tensor& t) {
  if (!t.defined()) return;
  recomputation_ = recomputation_of(t);
  if (recomputation_) {
    ++recomputation_->readers;
    return;
  }
  kept_ = t.detach();
  version_ = t.version();
}

Tensor SavedTensor::read(std::string_view op, RecomputedOutputs& outputs) const {
  if (recomputation_) return outputs.read(*recomputation_, op);
  check(!kept_.defined() || kept_.version() == version_, "backward: '", op,
        "' needs a tensor of shape ", kept_.defined() ? kept_.shape() : Shape{},
        " that was changed in place after the forward; change a clone() instead");
  return kept_;
}

Tensor RecomputedOutputs::read(const Recomputation& how, std::string_view op) {
  Held& held = held_[&how];
  if (!held.output.defined()) {
    std::vector<Tensor> from;
    from.reserve(how.from.size());
    for (const SavedTensor& s : how.from) from.push_back(s.read(op, *this));
    held.output = how.compute(from);
  }
  Tensor output = held.output;
  if (++held.reads == how.readers) held_.erase(&how);
  return output;
}

void RecomputedOutputs::reached(const Node& node) { held_.erase(node.recomputation.get()); }

Tensor recomputed_for_backward(const Tensor& output, std::initializer_list<Tensor> from,
                               RecomputeFn compute) {
  if (output.node() == nullptr) return output;
  Recomputation how{{}, std::move(compute), output.version()};
  how.from.reserve(from.size());
  for (const Tensor& t : from) how.from.emplace_back(t);
  output.node()->recomputation = std::make_shared<const Recomputation>(std::move(how));
  return output;
}

Node::Node(const OpLabel& op, const Tensor& output, std::span<const Tensor> read,
           std::span<const Tensor> kept, BackwardFn derivative)
    : name(op.name()),
      attributes(op.attributes().begin(), op.attributes().end()),
      output_shape(output.shape()),
      output_dtype(output.dtype()),
      backward(std::move(derivative)),
      multiply_adds(op.multiply_adds) {
  inputs.reserve(read.size());
  for (const Tensor& t : read) inputs.push_back(edge_to(t));
  saved.reserve(kept.size());
  for (const Tensor& t : kept) saved.emplace_back(t);
  sequence = next_sequence++;  // last: a view among the inputs may just have got its node
}

Node::~Node() { free(); }

std::vector<Tensor> Node::saved_tensors(RecomputedOutputs& outputs) const {
  check(!freed, "backward: the tape of '", name,
        "' was freed by an earlier backward(); run the forward again");
  std::vector<Tensor> tensors;
  tensors.reserve(saved.size());
  for (const SavedTensor& s : saved) tensors.push_back(s.read(name, outputs));
  return tensors;
}

void Node::free() {
  freed = true;
  saved.clear();
  recomputation = nullptr;
  backward = nullptr;
  inner_leaves.clear();
  // Inputs may be the last owners of their nodes, whose inputs are then freed here as well.
  std::vector<Tensor> pending = std::move(inputs);
  inputs.clear();
  while (!pending.empty()) {
    const Tensor t = std::move(pending.back());
    pending.pop_back();
    if (!t.defined() || t.impl().use_count() > 1 || t.node() == nullptr) continue;
    if (t.node().use_count() > 1) continue;
    std::vector<Tensor>& below = t.node()->inputs;
    pending.insert(pending.end(), std::make_move_iterator(below.begin()),
                   std::make_move_iterator(below.end()));
    below.clear();
  }
}

bool GradArgs::needs(int input) const {
  return node_.inputs[static_cast<std::size_t>(input)].requires_grad();
}

Tensor GradArgs::accumulator(int input) const {
  const Tensor& t = node_.inputs[static_cast<std::size_t>(input)];
  if (!t.is_leaf() || !t.impl()->requires_grad) return {};
  const Tensor grad = t.grad();
  LateSums::finish_if_late(grad);
  const bool usable = grad.defined() && grad.is_contiguous() && grad.dtype() == t.dtype();
  return usable ? grad : Tensor();
}

Tensor GradArgs::sum_so_far(int input) const {
  const Tensor& x = node_.inputs[static_cast<std::size_t>(input)];
  const bool is_made_by_an_op = x.node() != nullptr && x.requires_grad();
  if (!is_made_by_an_op || gradients_are_read()) return {};  // the term alone would not be seen
  return sums_(x);
}

}  // namespace fovea
