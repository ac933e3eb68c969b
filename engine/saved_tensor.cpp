// Keeping and reading what derivatives need.
#include "engine/saved_tensor.h"

#include <utility>

#include "engine/node.h"

namespace fovea {
namespace {

std::shared_ptr<const Recomputation> recomputation_of(const Tensor& t) {
  if (t.node() == nullptr || t.node()->recomputation == nullptr) return nullptr;
  const bool is_unchanged = t.version() == t.node()->recomputation->version;
  return is_unchanged ? t.node()->recomputation : nullptr;
}

}  // namespace

SavedTensor::SavedTensor(const Tensor& t) {
  if (!t.defined()) return;
  recomputation_ = recomputation_of(t);
  if (recomputation_) return;
  kept_ = t.detach();
  version_ = t.version();
}

Tensor SavedTensor::read(std::string_view op) const {
  if (recomputation_) {
    std::vector<Tensor> from;
    from.reserve(recomputation_->from.size());
    for (const SavedTensor& s : recomputation_->from) from.push_back(s.read(op));
    return recomputation_->compute(from);
  }
  check(!kept_.defined() || kept_.version() == version_, "backward: '", op,
        "' needs a tensor of shape ", kept_.defined() ? kept_.shape() : Shape{},
        " that was changed in place after the forward; change a clone() instead");
  return kept_;
}

Tensor recomputed_for_backward(const Tensor& output, std::initializer_list<Tensor> from,
                               RecomputeFn compute) {
  if (output.node() == nullptr) return output;
  Recomputation how{{}, std::move(compute), output.version()};
  how.from.reserve(from.size());
  for (const Tensor& t : from) how.from.emplace_back(t);
  output.node()->recomputation = std::make_shared<const Recomputation>(std::move(how));
  return output;
}

}  // namespace fovea
