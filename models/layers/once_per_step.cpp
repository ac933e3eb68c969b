// Computing, caching and differentiating a value that depends on parameters alone.
#include "models/layers/once_per_step.h"

#include "engine/autograd.h"
#include "engine/base/error.h"

namespace fovea {

std::vector<std::uint64_t> OncePerStep::versions() const {
  std::vector<std::uint64_t> versions;
  for (const Tensor& p : parameters_) versions.push_back(p.version());
  return versions;
}

bool OncePerStep::wants_tape() const {
  if (!grad_enabled()) return false;
  for (const Tensor& p : parameters_) {
    if (p.requires_grad()) return true;
  }
  return false;
}

Tensor OncePerStep::get(const std::function<Tensor()>& compute) {
  std::vector<std::uint64_t> now = versions();
  const bool current = leaf_.defined() && now == computed_from_;
  if (current && (graph_.defined() || !wants_tape())) return leaf_;
  check(!graph_.defined() || !leaf_.grad().defined(),
        "position attention: parameters changed while their gradient was still to be computed; "
        "call Model::finish_backward() after the last backward() of a step");
  const Tensor value = compute();
  computed_from_ = std::move(now);
  leaf_ = value.detach();
  graph_ = value.requires_grad() ? value : Tensor();
  if (graph_.defined()) leaf_.set_requires_grad();
  return leaf_;
}

void OncePerStep::finish_backward() {
  if (!graph_.defined()) return;
  if (leaf_.grad().defined()) backward(graph_, leaf_.grad());
  graph_ = {};
  leaf_ = leaf_.detach();  // drops the gradient; the value stays valid until a parameter changes
}

void OncePerStep::abandon() {
  graph_ = leaf_ = {};
  computed_from_.clear();
}

}  // namespace fovea
