// Recording ops and walking the tape backwards.
#include "engine/autograd.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <unordered_set>
#include <utility>

#include "engine/copy.h"
#include "engine/profile.h"
#include "engine/tensor_impl.h"
#include "engine/trace.h"

namespace fovea {
namespace {

thread_local bool recording = true;
thread_local bool detecting_anomalies = false;
thread_local const OnCompleteGradient::Complete* on_complete = nullptr;
thread_local ReadLeaves* read_leaves = nullptr;
std::atomic<std::uint64_t> next_sequence{1};

/// Names of the nearest named leaves below `inputs`, breadth first, for anomaly reports.
std::string nearest_leaves(std::span<const Tensor> inputs) {
  std::deque<Tensor> queue(inputs.begin(), inputs.end());
  std::unordered_set<const void*> seen;
  std::string names;
  while (!queue.empty() && names.size() < 200) {
    const Tensor t = queue.front();
    queue.pop_front();
    if (!t.defined()) continue;
    const void* const origin =
        t.is_leaf() ? static_cast<const void*>(t.impl().get()) : t.node().get();
    if (!seen.insert(origin).second) continue;
    if (!t.name().empty()) names += (names.empty() ? "" : ", ") + t.name();
    const bool found_level = !names.empty();
    if (t.node() && !found_level) {
      queue.insert(queue.end(), t.node()->inputs.begin(), t.node()->inputs.end());
    }
  }
  return names.empty() ? "no named parameter" : names;
}

void require_finite(const Tensor& value, std::string_view what, std::string_view op,
                    std::span<const Tensor> inputs) {
  if (!value.defined() || all_finite(value)) return;
  fail("anomaly: the first value that is not finite is in the ", what, " of '", op, "', shape ",
       value.shape(), ", near ", nearest_leaves(inputs));
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

void accumulate_leaf(const Tensor& leaf, Tensor term) {
  TensorImpl& impl = *leaf.impl();
  if (impl.grad.defined()) {
    add_into(impl.grad, term);
  } else {
    impl.grad = owned(term) ? std::move(term) : term.clone();
  }
}

struct Visit {
  std::shared_ptr<Node> node;
  Tensor grad;
};
using Frontier = std::map<std::uint64_t, Visit, std::greater<>>;

/// Passes one gradient to the tensor it belongs to: checked, un-broadcast, accumulated.
void deliver(const Tensor& input, Tensor grad, std::string_view op, Frontier& frontier) {
  check(grad.dtype() == input.dtype(), op, ": the derivative gave a gradient of ",
        to_string(grad.dtype()), " for an input of ", to_string(input.dtype()));
  if (!(grad.shape() == input.shape())) grad = sum_to(grad, input.shape());
  if (input.is_leaf()) {
    accumulate_leaf(input, std::move(grad));
    return;
  }
  Visit& visit = frontier[input.node()->sequence];
  visit.node = input.node();
  accumulate(visit.grad, std::move(grad));
}

std::vector<Tensor> checked_saved(const Node& node) {
  check(!node.freed, "backward: the tape of '", node.name,
        "' was freed by an earlier backward(); run the forward again");
  std::vector<Tensor> saved;
  saved.reserve(node.saved.size());
  for (const Node::Saved& s : node.saved) {
    check(!s.tensor.defined() || s.tensor.version() == s.version, "backward: '", node.name,
          "' needs a tensor of shape ", s.tensor.defined() ? s.tensor.shape() : Shape{},
          " that was changed in place after the forward; change a clone() instead");
    saved.push_back(s.tensor);
  }
  return saved;
}

void visit_node(Node& node, const Tensor& grad, Frontier& frontier) {
  const OpsOfTheirOwn apart;
  const RunningOp naming(node.name.data());
  const std::vector<Tensor> saved = checked_saved(node);
  const Tensor dy = grad.contiguous();
  Grads grads = node.backward(GradArgs(node, dy, saved));
  check(grads.size() == node.inputs.size(), node.name, ": the derivative gave ", grads.size(),
        " gradients for ", node.inputs.size(), " inputs");
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const Tensor& input = node.inputs[i];
    if (!grads[i].defined() || !input.requires_grad()) continue;
    if (detecting_anomalies) require_finite(grads[i], "derivative", node.name, node.inputs);
    deliver(input, std::move(grads[i]), node.name, frontier);
  }
}

/// The leaves of a tape by the first node that uses them, which backward() visits last.
class Completion {
 public:
  explicit Completion(const Tensor& root) : listener_(std::exchange(on_complete, nullptr)) {
    if (listener_ == nullptr) return;
    std::unordered_set<const Node*> seen;
    std::vector<const Node*> pending;
    const auto follow = [&](const std::shared_ptr<Node>& node) {
      if (node != nullptr && seen.insert(node.get()).second) pending.push_back(node.get());
    };
    follow(root.node());
    while (!pending.empty()) {
      const Node& node = *pending.back();
      pending.pop_back();
      for (const Tensor& leaf : node.inner_leaves) {
        if (leaf.requires_grad()) note(leaf, node.sequence);
      }
      for (const Tensor& input : node.inputs) {
        if (!input.requires_grad()) continue;
        input.is_leaf() ? note(input, node.sequence) : follow(input.node());
      }
    }
    for (auto& [impl, use] : first_uses_) leaves_.emplace(use.sequence, std::move(use.leaf));
  }

  ~Completion() { on_complete = listener_; }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  /// Announces the leaves of which this node was the first use.
  void passed(std::uint64_t sequence) {
    const auto [first, last] = leaves_.equal_range(sequence);
    for (auto leaf = first; leaf != last; ++leaf) (*listener_)(leaf->second);
  }

 private:
  struct Use {
    Tensor leaf;
    std::uint64_t sequence = 0;
  };

  void note(const Tensor& leaf, std::uint64_t sequence) {
    Use& use = first_uses_.try_emplace(leaf.impl().get(), Use{leaf, sequence}).first->second;
    use.sequence = std::min(use.sequence, sequence);
  }

  const OnCompleteGradient::Complete* listener_;  ///< null during the walk: inner tapes are silent
  std::map<const TensorImpl*, Use> first_uses_;
  std::multimap<std::uint64_t, Tensor> leaves_;
};

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

/// The tape's node for an op, without its derivative.
std::shared_ptr<Node> make_node(const OpLabel& op, const Tensor& output,
                                std::span<const Tensor> inputs, std::span<const Tensor> saved) {
  auto node = std::make_shared<Node>();
  node->name = op.name();
  node->attributes.assign(op.attributes().begin(), op.attributes().end());
  node->multiply_adds = op.multiply_adds;
  node->sequence = next_sequence++;
  node->output_shape = output.shape();
  node->output_dtype = output.dtype();
  node->inputs.reserve(inputs.size());
  for (const Tensor& t : inputs) node->inputs.push_back(edge_to(t));
  for (const Tensor& t : saved) {
    const Tensor kept = t.defined() ? t.detach() : t;
    node->saved.push_back({kept, t.defined() ? t.version() : 0});
  }
  return node;
}

void tell_listeners(const OpLabel& op, const Tensor& output, std::span<const Tensor> inputs) {
  ReadLeaves::note(inputs);
  if (is_profiling()) profile_op(op, output);
  if (is_tracing()) trace_op({op, inputs, output});
}

}  // namespace

Node::~Node() { free(); }

void Node::free() {
  freed = true;
  saved.clear();
  backward = nullptr;
  // Inputs may be the last owners of their nodes: free those iteratively instead of recursing.
  std::vector<Tensor> pending = std::move(inputs);
  inputs.clear();
  inner_leaves.clear();
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
  const bool usable = grad.defined() && grad.is_contiguous() && grad.dtype() == t.dtype();
  return usable ? grad : Tensor();
}

bool needs_tape(std::initializer_list<Tensor> inputs) {
  if (!recording) return false;
  for (const Tensor& t : inputs) {
    if (t.defined() && t.requires_grad()) return true;
  }
  return false;
}

Tensor record(const OpLabel& op, Tensor output, std::initializer_list<Tensor> inputs,
              std::initializer_list<Tensor> saved, BackwardFn backward) {
  return record(op, std::move(output), std::span(inputs.begin(), inputs.size()),
                std::span(saved.begin(), saved.size()), std::move(backward));
}

Tensor record(const OpLabel& op, Tensor output, std::span<const Tensor> inputs,
              std::span<const Tensor> saved, BackwardFn backward) {
  if (detecting_anomalies) require_finite(output, "output", op, inputs);
  bool wanted = false;
  for (const Tensor& t : inputs) wanted |= t.defined() && t.requires_grad();
  if (recording && wanted) {
    std::shared_ptr<Node> node = make_node(op, output, inputs, saved);
    node->backward = std::move(backward);
    if (output.requires_grad()) output = output.detach();  // an op that returned its input
    output.impl()->node = std::move(node);
  }
  tell_listeners(op, output, inputs);
  return output;
}

void set_inner_leaves(const Tensor& output, std::vector<Tensor> leaves) {
  if (output.node() != nullptr) output.node()->inner_leaves = std::move(leaves);
}

ReadLeaves::ReadLeaves() : before_(std::exchange(read_leaves, this)) {}
ReadLeaves::~ReadLeaves() { read_leaves = before_; }

std::vector<Tensor> ReadLeaves::leaves() const {
  std::vector<Tensor> all;
  for (const auto& [impl, leaf] : leaves_) all.push_back(leaf);
  return all;
}

void ReadLeaves::note(std::span<const Tensor> inputs) {
  for (ReadLeaves* reader = read_leaves; reader != nullptr; reader = reader->before_) {
    for (const Tensor& t : inputs) {
      if (t.defined() && t.is_leaf() && t.requires_grad()) reader->leaves_[t.impl().get()] = t;
    }
  }
}

Tensor record_constant(const OpLabel& op, const Tensor& output,
                       std::initializer_list<Tensor> inputs) {
  tell_listeners(op, output, std::span(inputs.begin(), inputs.size()));
  return output;
}

void backward(const Tensor& root, const Tensor& cotangent, Tape tape) {
  check(root.requires_grad(), "backward: the tensor of shape ", root.shape(),
        " does not depend on anything that requires a gradient");
  check(cotangent.defined() || root.numel() == 1, "backward: a root of shape ", root.shape(),
        " needs a cotangent of the same shape");
  check(!cotangent.defined() || cotangent.shape() == root.shape(), "backward: cotangent ",
        cotangent.defined() ? cotangent.shape() : Shape{}, " for a root of shape ", root.shape());
  const NoGrad no_grad;
  Frontier frontier;
  Tensor seed = cotangent.defined() ? cotangent.detach().to(root.dtype())
                                    : ones(root.shape(), root.options());
  deliver(root, std::move(seed), "backward", frontier);
  Completion completion(root);
  while (!frontier.empty()) {
    Visit visit = std::move(frontier.begin()->second);
    frontier.erase(frontier.begin());
    const ProfileScope scope(visit.node->name, "backward");
    visit_node(*visit.node, visit.grad, frontier);
    if (tape == Tape::freed) visit.node->free();
    completion.passed(visit.node->sequence);
  }
}

bool grad_enabled() { return recording; }

NoGrad::NoGrad() : before_(recording) { recording = false; }
NoGrad::~NoGrad() { recording = before_; }

WithGrad::WithGrad() : before_(recording) { recording = true; }
WithGrad::~WithGrad() { recording = before_; }

DetectAnomaly::DetectAnomaly(bool on) : before_(detecting_anomalies) { detecting_anomalies = on; }
OnCompleteGradient::OnCompleteGradient(Complete complete)
    : complete_(std::move(complete)), before_(on_complete) {
  on_complete = &complete_;
}
OnCompleteGradient::~OnCompleteGradient() { on_complete = before_; }

DetectAnomaly::~DetectAnomaly() { detecting_anomalies = before_; }

}  // namespace fovea
