// The first use of each leaf of a tape, found before backward() walks and frees it.
#include "engine/completion.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/node.h"

namespace fovea {
namespace {

thread_local const OnCompleteGradient::Complete* on_complete = nullptr;

/// Calls f with every node that the root was computed from, in no particular order.
template <class F>
void for_each_node(const Tensor& root, const F& f) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> pending;
  const auto follow = [&](const Tensor& t) {
    const Node* const node = t.node().get();
    if (node != nullptr && seen.insert(node).second) pending.push_back(node);
  };
  follow(root);
  while (!pending.empty()) {
    const Node& node = *pending.back();
    pending.pop_back();
    f(node);
    for (const Tensor& input : node.inputs) follow(input);
  }
}

/// The leaves that require a gradient, each with the sequence of the first node that reads it.
class FirstUses {
 public:
  explicit FirstUses(const Tensor& root) {
    for_each_node(root, [this](const Node& node) {
      for (const Tensor& input : node.inputs) note(input, node.sequence);
      for (const Tensor& leaf : node.inner_leaves) note(leaf, node.sequence);
    });
  }

  [[nodiscard]] std::multimap<std::uint64_t, Tensor> in_order() const {
    std::multimap<std::uint64_t, Tensor> leaves;
    for (const auto& [impl, use] : uses_) leaves.emplace(use.sequence, use.leaf);
    return leaves;
  }

 private:
  struct Use {
    Tensor leaf;
    std::uint64_t sequence = 0;
  };

  void note(const Tensor& t, std::uint64_t sequence) {
    if (!t.is_leaf() || !t.requires_grad()) return;
    Use& use = uses_.try_emplace(t.impl().get(), Use{t, sequence}).first->second;
    use.sequence = std::min(use.sequence, sequence);
  }

  std::map<const TensorImpl*, Use> uses_;
};

}  // namespace

OnCompleteGradient::OnCompleteGradient(Complete complete)
    : complete_(std::move(complete)), before_(std::exchange(on_complete, &complete_)) {}
OnCompleteGradient::~OnCompleteGradient() { on_complete = before_; }

void declare_inner_leaves(const Tensor& output, std::vector<Tensor> leaves) {
  if (output.node() != nullptr) output.node()->inner_leaves = std::move(leaves);
}

CompletionOrder::CompletionOrder(const Tensor& root) : listener_(on_complete) {
  if (listener_ != nullptr) by_first_use_ = FirstUses(root).in_order();
  on_complete = nullptr;  // until the walk ends
}

CompletionOrder::~CompletionOrder() { on_complete = listener_; }

void CompletionOrder::passed(const Node& node) const {
  const auto [first, last] = by_first_use_.equal_range(node.sequence);
  if (first != last) LateSums::finish();
  for (auto leaf = first; leaf != last; ++leaf) (*listener_)(leaf->second);
}

}  // namespace fovea
