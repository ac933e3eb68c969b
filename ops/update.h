// What changes tensors in place, off the tape: steps of optimizers, averages, clipped gradients.
// The formulas and their papers stand in ops/update/, a file each; train/ decides which parameters
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

/// The numbers of one step, whatever the optimizer.
struct UpdateRates {
  double lr = 0, weight_decay = 0;
  double gradient_scale = 1;  ///< acts as if the gradient had been multiplied by it
  std::int64_t step = 1;      ///< counts from 1
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

/// average <- decay average + (1 - decay) scale value, of f32 or f64.
void average_(const Tensor& average, const Tensor& value, double decay, double scale = 1);

/// The sum of all squares over tensors of any float dtype on one device, as one f64 there, in an
/// order that does not depend on the threads. NaN or infinite when an element is. 0 of none.
[[nodiscard]] Tensor sum_of_squares(std::span<const Tensor> tensors);

/// Brings every element into [-limit, limit]; NaN stays NaN.
void clip_values_(const Tensor& gradient, double limit);
/// Brings the norm of each output unit's gradient (a row of a matrix, a filter, a whole vector),
/// times `scale`, down to factor * max(norm of the unit's weights, 1e-3): adaptive clipping.
void clip_units_(const Tensor& gradient, const Tensor& parameter, double factor, double scale = 1);

}  // namespace fovea::ops
