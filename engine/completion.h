// When the gradient of a leaf is complete: as soon as backward() has visited the first op that read
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "engine/autograd.h"

namespace fovea {

/// While it is alive, backward() of this thread calls `complete(leaf)` as soon as nothing that is
/// left on its tape can add to the gradient of the leaf, which may then be sent to other processes.
/// Leaves that `root` does not depend on are not announced, nor are those of a tape that runs
/// inside a derivative: the outer tape may still add to them.
class OnCompleteGradient {
 public:
  using Complete = std::function<void(const Tensor& leaf)>;
  explicit OnCompleteGradient(Complete complete);
  ~OnCompleteGradient();
  OnCompleteGradient(const OnCompleteGradient&) = delete;
  OnCompleteGradient& operator=(const OnCompleteGradient&) = delete;

 private:
  Complete complete_;
  const Complete* before_;
};

/// Declares that the derivative of the op that made `output` runs its own tape, which adds to the
/// gradients of these leaves although they are not among the op's inputs.
void declare_inner_leaves(const Tensor& output, std::vector<Tensor> leaves);

/// The leaves below a root in the order in which a walk of backward() completes them; empty when
/// nobody listens. Tapes inside the walk are silent while it is alive.
class CompletionOrder {
 public:
  explicit CompletionOrder(const Tensor& root);
  ~CompletionOrder();
  CompletionOrder(const CompletionOrder&) = delete;
  CompletionOrder& operator=(const CompletionOrder&) = delete;

  /// Announces the leaves that this node, now visited, was the first to read.
  void passed(const Node& node) const;

 private:
  const OnCompleteGradient::Complete* listener_;
  std::multimap<std::uint64_t, Tensor> by_first_use_;  ///< by the sequence of that node
};

}  // namespace fovea
