// What turns gradients into new parameters: AdamW and SGD, with PyTorch's formulas. The updates
// themselves stand in adamw.cpp and sgd.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/scope.h"

namespace fovea {

enum class OptimizerKind { adamw, sgd };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double weight_decay = 0.05;                     ///< of parameters born with Decay::yes
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< adamw
  double momentum = 0.9;                          ///< sgd
  bool nesterov = false;                          ///< sgd
};

/// Updates the trainable parameters of a store in place. Moments have the parameter's dtype (f32 or
/// f64) and are zero before the first step.
class Optimizer {
 public:
  Optimizer(const ParameterStore& store, OptimizerOptions options);

  /// One update from grad() * gradient_scale. A parameter without a gradient stays as it is.
  void step(double lr, double gradient_scale = 1);

  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  [[nodiscard]] const OptimizerOptions& options() const { return options_; }

  /// The moments by name, "m/blocks.0.norm1.weight" (and "v/..." for adamw): handles, not copies.
  [[nodiscard]] std::map<std::string, Tensor> state() const;
  /// For a run that is continued: state() has been filled with the moments of that many steps.
  void set_steps_done(std::int64_t steps) { steps_done_ = steps; }

 private:
  struct Slot {
    Parameter parameter;
    Tensor m, v;  ///< v is undefined for sgd
  };

  OptimizerOptions options_;
  std::vector<Slot> slots_;
  std::int64_t steps_done_ = 0;
};

namespace detail {

/// One parameter's update. All tensors are contiguous, of one dtype and on one device.
struct Update {
  Tensor parameter, gradient, m, v;
  double lr = 0, weight_decay = 0, gradient_scale = 1;
  std::int64_t step = 1;  ///< counts from 1
};
void adamw_update(const Update& update, const OptimizerOptions& options);
void sgd_update(const Update& update, const OptimizerOptions& options);

}  // namespace detail
}  // namespace fovea
