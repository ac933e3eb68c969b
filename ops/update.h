// In-place updates off the tape: optimizer steps, moving averages, gradient clipping. Each
// formula, with its paper, is in its own file in ops/update/; train/optim/ decides which parameters
// are updated, and at which rates.
#pragma once

#include <cstdint>

#include <span>

#include "engine/tensor.h"

namespace fovea::ops {

/// A parameter, its gradient and its optimizer moments: contiguous, of equal shape, dtype (f32 or
/// f64) and device. Moments are zero before the first step.
struct UpdateTensors {
  Tensor parameter, gradient, m, v;  ///< v is used by adamw_ and lamb_ only
};

/// Numbers that change every step, for any optimizer and parameter.
struct StepScalars {
  double lr = 0;
  double gradient_scale = 1;    ///< multiplies the gradient
  std::int64_t step = 1;        ///< counts from 1
  double beta1 = 0, beta2 = 0;  ///< Adam's and LAMB's; the bias correction depends on the step
};

/// The step's scalars in device memory, where the step's kernels read them. A handle: copies refer
/// to the same memory.
class UpdateStep {
 public:
  UpdateStep(Device device, const StepScalars& now);

  /// Writes the numbers with one small copy. Steps enqueued earlier read the old numbers.
  void write(const StepScalars& now);
  [[nodiscard]] const StepScalars& numbers() const { return numbers_; }  ///< as this handle wrote
  [[nodiscard]] const Tensor& memory() const { return memory_; }         ///< the DeviceScalars

 private:
  StepScalars numbers_{};
  Tensor memory_;
};

/// The learning rate and decay of one parameter in a step.
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

// One step each. These change the parameter and the moments, and bump their versions.
void adamw_(const UpdateTensors& tensors, const UpdateRates& rates, const AdamOptions& options);
void lamb_(const UpdateTensors& tensors, const UpdateRates& rates, const AdamOptions& options);
void lars_(const UpdateTensors& tensors, const UpdateRates& rates, const LarsOptions& options);
void lion_(const UpdateTensors& tensors, const UpdateRates& rates, const LionOptions& options);
void sgd_(const UpdateTensors& tensors, const UpdateRates& rates, const SgdOptions& options);
/// For a matrix, or for filters [O, C, kh, kw] taken as the matrix [O, C kh kw].
void muon_(const UpdateTensors& tensors, const UpdateRates& rates, const MuonOptions& options);

/// average <- decay average + (1 - decay) value, in f32 or f64. decay: one f64 on their device,
/// which may be rewritten between repetitions of a recorded call.
void average_(const Tensor& average, const Tensor& value, const Tensor& decay);

/// The sum of the squares of all elements, as one f64 on the device of the tensors, which have any
/// float dtypes; added in an order that does not depend on threads. NaN or infinite if an element
/// is. 0 without tensors.
[[nodiscard]] Tensor sum_of_squares(std::span<const Tensor> tensors);
/// Its terms, f64 [N]: the sums of squares of each update_block() elements of each tensor, the last
/// of which may be fewer.
[[nodiscard]] Tensor squares_by_block(std::span<const Tensor> tensors);
[[nodiscard]] std::int64_t update_block();

/// Clamps every element to [-limit, limit]; NaN stays NaN.
void clip_values_(const Tensor& gradient, double limit);
/// Adaptive gradient clipping: limits the norm of each output unit's gradient (a row of a matrix,
/// a filter, a whole vector), times `scale`, to factor * max(norm of the unit's weights, 1e-3).
void clip_units_(const Tensor& gradient, const Tensor& parameter, double factor, double scale = 1);

}  // namespace fovea::ops
