// The parameters that one loss trains: their gradients, the bounds of these, and their optimizer.
#pragma once

#include <optional>
#include <vector>

#include "engine/autograd.h"
#include "models/scope.h"
#include "optim/gradients.h"
#include "optim/optimizer.h"
#include "train/loop/parameter_groups.h"

namespace fovea {

struct ClipOptions {
  ClipMode mode = ClipMode::norm;
  std::optional<double> limit{};  ///< none: gradients stay as they are
};

/// How large the gradients of a group are.
struct GradientSize {
  Tensor squares{};              ///< gradient_squares() of their sum over the batches of a step
  std::optional<double> norm{};  ///< of their mean, where the host knows it
};

class TrainedGroup {
 public:
  /// Of all the store's parameters those that `split` puts into group `index`. `usual` are the
  /// options of groups that have none of their own.
  TrainedGroup(const ParameterStore& store, const OptimizerOptions& usual,
               const ParameterSplit& split, std::size_t index);
  TrainedGroup(const TrainedGroup&) = delete;
  TrainedGroup& operator=(const TrainedGroup&) = delete;

  [[nodiscard]] const std::string& name() const { return group_.name; }
  [[nodiscard]] const ParameterStore& parameters() const { return own_; }
  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }

  /// Adds the gradients of its own parameters, and of no other. The tape is freed, or kept for
  /// another group's loss.
  void backward(const Tensor& loss, Tape tape) const;
  /// gradient_squares() of its parameters.
  [[nodiscard]] Tensor squares() const { return gradient_squares(own_); }
  /// What the update should multiply the gradients by so that they are means, which is `scale`, and
  /// clipped.
  [[nodiscard]] double clip(const ClipOptions& options, double scale,
                            const GradientSize& size) const;
  void update(double lr, double scale) { optimizer_.step(lr * group_.lr_scale, scale); }

 private:
  [[nodiscard]] double clip_norm(double limit, double scale, const GradientSize& size) const;

  ParameterGroup group_;
  ParameterStore own_;           ///< handles
  std::vector<Tensor> foreign_;  ///< trainable parameters of other groups
  Optimizer optimizer_;
};

}  // namespace fovea
