// Backward, clipping and update of one parameter group, with the other groups' parameters frozen.
#include "train/loop/trained_group.h"

namespace fovea {
namespace {

/// Disables gradients of these leaves during its lifetime.
class Frozen {
 public:
  explicit Frozen(const std::vector<Tensor>& leaves) : leaves_(leaves) {
    for (const Tensor& leaf : leaves_) leaf.set_requires_grad(false);
  }
  ~Frozen() {
    for (const Tensor& leaf : leaves_) leaf.set_requires_grad(true);
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  const std::vector<Tensor>& leaves_;
};

}  // namespace

TrainedGroup::TrainedGroup(const ParameterStore& store, const OptimizerOptions& usual,
                           const ParameterSplit& split, std::size_t index)
    : group_(split.groups.at(index)),
      own_(store, [&](const Parameter& p) { return split.of(p) == index; }),
      optimizer_(store, group_.optimizer.value_or(usual),
                 [&](const Parameter& p) { return split.of(p) == index; }) {
  for (const Parameter& p : store.parameters()) {
    if (p.tensor.requires_grad() && split.of(p) != index) foreign_.push_back(p.tensor);
  }
}

void TrainedGroup::backward(const Tensor& loss, double weight, Tape tape) const {
  const Frozen frozen(foreign_);
  fovea::backward(loss, weight == 1 ? Tensor() : full(loss.shape(), weight, loss.options()), tape);
}

void TrainedGroup::keep(const Portions& portions) {
  portions_ = &portions;
  optimizer_.keep([&](const Tensor& parameter) { return portions.of(parameter); },
                  [this] { return squares(); });
}

double TrainedGroup::clip(const ClipOptions& options, double scale,
                          const GradientSize& size) const {
  if (!options.limit) return scale;
  const double limit = *options.limit;
  switch (options.mode) {
    case ClipMode::norm:
      return clip_norm(limit, scale, size);
    case ClipMode::value:
      clip_by_value(own_, limit / scale);
      return scale;
    case ClipMode::agc:
      clip_adaptively(own_, limit, scale);
      return scale;
  }
  return scale;
}

/// A norm known to the host becomes part of the update's scale, and the gradients are unchanged. A
/// norm known only to the device is applied to the gradients there, so the host does not wait.
double TrainedGroup::clip_norm(double limit, double scale, const GradientSize& size) const {
  if (size.norm) return scale * clip_scale(*size.norm, limit);
  clip_by_norm(own_, size.squares, limit, scale);
  return scale;
}

}  // namespace fovea
