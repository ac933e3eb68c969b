// The parameters trained by one loss: gradients, clipping and optimizer.
#pragma once

#include <optional>
#include <vector>

#include "engine/autograd.h"
#include "models/scope.h"
#include "train/loop/parameter_groups.h"
#include "train/loop/portions.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"

namespace fovea {

struct ClipOptions {
  ClipMode mode = ClipMode::norm;
  std::optional<double> limit{};  ///< empty: no clipping
};

/// Magnitude of a group's gradients.
struct GradientSize {
  Tensor squares{};              ///< gradient_squares() of the sum over a step's batches
  std::optional<double> norm{};  ///< norm of their mean, if known to the host
};

class TrainedGroup {
 public:
  /// Takes those of the store's parameters that `split` assigns to group `index`. `usual` holds the
  /// options for groups without their own.
  TrainedGroup(const ParameterStore& store, const OptimizerOptions& usual,
               const ParameterSplit& split, std::size_t index);
  TrainedGroup(const TrainedGroup&) = delete;
  TrainedGroup& operator=(const TrainedGroup&) = delete;

  [[nodiscard]] const std::string& name() const { return group_.name; }
  [[nodiscard]] const ParameterStore& parameters() const { return own_; }
  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }

  /// Accumulates gradients of `weight` times the loss, of this group's parameters only. Frees the
  /// tape, or keeps it for another group's loss.
  void backward(const Tensor& loss, double weight, Tape tape) const;
  /// From now on updates this process's parts of the parameters alone. `portions` must outlive the
  /// object.
  void keep(const Portions& portions);
  /// gradient_squares() of this group's parameters.
  [[nodiscard]] Tensor squares() const {
    return portions_ == nullptr ? gradient_squares(own_) : portions_->squares(own_);
  }
  /// Clips, and returns the factor by which the update must multiply the gradients; `scale` turns
  /// sums into means.
  [[nodiscard]] double clip(const ClipOptions& options, double scale,
                            const GradientSize& size) const;
  void update(double lr, double scale) { optimizer_.step(lr * group_.lr_scale, scale); }

 private:
  [[nodiscard]] double clip_norm(double limit, double scale, const GradientSize& size) const;

  ParameterGroup group_;
  ParameterStore own_;           ///< shared handles
  std::vector<Tensor> foreign_;  ///< trainable parameters of other groups
  Optimizer optimizer_;
  const Portions* portions_ = nullptr;
};

}  // namespace fovea
