// What changes tensors in place, off the tape: steps of optimizers, averages, clipped gradients.
// The formulas and their papers are in ops/update/, one file each; optim/ decides which parameters
// are changed, and at which rates.
#pragma once

#include <cstdint>

#include <span>

#include "engine/tensor.h"

namespace fovea::ops {

/// A parameter, its gradient, and what an optimizer remembers of it: contiguous, of one shape,
/// dtype (f32 or f64) and device. Moments are zero before the first step.
struct UpdateTensors {
  Tensor parameter, gradient, m, v;  ///< v is adamw_'s and lamb_'s alone
};

/// What changes from one step to the next, whatever the optimizer and the parameter.
struct StepNumbers {
  double lr = 0;
  double gradient_scale = 1;    ///< acts as if the gradient had been multiplied by it
  std::int64_t step = 1;        ///< counts from 1
  double beta1 = 0, beta2 = 0;  ///< of Adam and LAMB, whose moments' bias depends on the step
};

/// These numbers in the memory of a device, where the steps' kernels read them. A handle: copies
/// are the same memory.
class UpdateStep {
 public:
  UpdateStep(Device device, const StepNumbers& now);

  /// One small copy. Steps that were asked for before read the old numbers.
  void write(const StepNumbers& now);
  [[nodiscard]] const StepNumbers& numbers() const { return numbers_; }  ///< as this handle wrote
  [[nodiscard]] const Tensor& memory() const { return memory_; }         ///< a StepBlock

 private:
  StepNumbers numbers_{};
  Tensor memory_;
};

/// One parameter's part in a step.
struct UpdateRates {
  UpdateStep now;
  double lr_scale = 1;  ///< its rate is lr times this
  double weight_decay = 0;
};
struct AdamOptions {
  double beta1 = 0, beta2 = 0, eps = 0;
};
struct LionOptions {
  double beta1 = 0, beta2 = 0;
};
struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
};
struct LarsOptions {
  double momentum = 0, trust = 0;
};
struct MuonOptions {
  double momentum = 0, eps = 0;
};

// One step each: the parameter and the moments change, and so do their versions.
void adamw_(const UpdateTensors& tensors, const UpdateRates& rates, const AdamOptions& options);
void lamb_(const UpdateTensors& tensors, const UpdateRates& rates, const AdamOptions& options);
void lars_(const UpdateTensors& tensors, const UpdateRates& rates, const LarsOptions& options);
void lion_(const UpdateTensors& tensors, const UpdateRates& rates, const LionOptions& options);
void sgd_(const UpdateTensors& tensors, const UpdateRates& rates, const SgdOptions& options);
/// Of a matrix, or of filters [O, C, kh, kw] as the matrix [O, C kh kw].
void muon_(const UpdateTensors& tensors, const UpdateRates& rates, const MuonOptions& options);

/// average <- decay average + (1 - decay) value, of f32 or f64. decay: one f64 on their device,
/// which may change while the call stays.
void average_(const Tensor& average, const Tensor& value, const Tensor& decay);

/// The sum of all squares over tensors of any float dtype on one device, as one f64 there, in an
/// order that does not depend on the threads. NaN or infinite when an element is. 0 of none.
[[nodiscard]] Tensor sum_of_squares(std::span<const Tensor> tensors);

/// Brings every element into [-limit, limit]; NaN stays NaN.
void clip_values_(const Tensor& gradient, double limit);
/// Brings the norm of each output unit's gradient (a row of a matrix, a filter, a whole vector),
/// times `scale`, down to factor * max(norm of the unit's weights, 1e-3): adaptive clipping.
void clip_units_(const Tensor& gradient, const Tensor& parameter, double factor, double scale = 1);

}  // namespace fovea::ops
