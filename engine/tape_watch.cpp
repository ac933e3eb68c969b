// This thread's watchers of the tape, and the ones that the engine brings along.
#include "engine/tape_watch.h"

#include <cassert>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>

#include "engine/copy.h"
#include "engine/node.h"
#include "engine/profile.h"

namespace fovea {
namespace {

thread_local TapeWatcher* newest = nullptr;

/// Names of the nearest named leaves below `inputs`, breadth first.
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

}  // namespace

TapeWatcher::TapeWatcher() : before_(std::exchange(newest, this)) {}
TapeWatcher::~TapeWatcher() {
  assert(newest == this);
  newest = before_;
}

bool gradients_are_read() {
  for (const TapeWatcher* w = newest; w != nullptr; w = w->before_) {
    if (w->reads_gradients()) return true;
  }
  return false;
}

void tell_recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) {
  for (TapeWatcher* w = newest; w != nullptr; w = w->before_) w->recorded(op, inputs, output);
  if (is_profiling()) profile_op(op, output);
}

void tell_differentiated(const Node& node, std::span<const Tensor> gradients) {
  LateSums::settle(node, gradients);
  for (TapeWatcher* w = newest; w != nullptr; w = w->before_) w->differentiated(node, gradients);
}

DetectAnomaly::DetectAnomaly(bool on) {
  if (on) check_.emplace();
}

void DetectAnomaly::Check::recorded(const OpLabel& op, std::span<const Tensor> inputs,
                                    const Tensor& output) {
  require_finite(output, "output", op, inputs);
}

void DetectAnomaly::Check::differentiated(const Node& node, std::span<const Tensor> gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!node.inputs[i].requires_grad()) continue;
    require_finite(gradients[i], "derivative", node.name, node.inputs);
  }
}

std::vector<Tensor> LeafReads::leaves() const {
  std::vector<Tensor> all;
  for (const auto& [impl, leaf] : leaves_) all.push_back(leaf);
  return all;
}

void LeafReads::recorded(const OpLabel& /*op*/, std::span<const Tensor> inputs,
                         const Tensor& /*output*/) {
  for (const Tensor& t : inputs) {
    if (t.defined() && t.is_leaf() && t.requires_grad()) leaves_[t.impl().get()] = t;
  }
}

}  // namespace fovea
