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
  Tensor average{};  ///< optional, like it: decay average + (1 - decay) new parameter
  Tensor copy{};     ///< optional, bf16 of that shape: receives the new parameter
};

/// Numbers that change every step, for any optimizer and parameter.
struct StepScalars {
  double lr = 0;
  double gradient_scale = 1;    ///< multiplies the gradient
  std::int64_t step = 1;        ///< counts from 1
  double beta1 = 0, beta2 = 0;  ///< Adam's and LAMB's; the bias correction depends on the step
  double average_decay = 0;     ///< of UpdateTensors::average
};

/// The decay of averages: with warm-up at most 1 - t^(-2/3) in step t.
struct AverageDecay {
  double decay = 0;
  bool warms_up = false;
};

/// The step's scalars in device memory, where the step's kernels read them. A handle: copies refer
/// to the same memory.
class UpdateStep {
 public:
  UpdateStep(Device device, const StepScalars& now);

  /// Writes the numbers with one small copy. Steps enqueued earlier read the old numbers.
  void write(const StepScalars& now);
  /// Multiplies gradient_scale by min(1, limit / (gradient_scale sqrt(squares) + margin)), which
  /// bounds the norm of gradients with this sum of squares (one f64). The host does not wait.
  void limit_norm(const Tensor& squares, double limit, double margin = 0) const;
  /// Unless both numbers are finite, the updates and averages with this step write nothing, and
  /// restore_if_skipped() restores. The host does not learn of it: `skipped` (all three are one
  /// f64) counts these steps, which it has counted as steps; bias corrections and average_decay are
  /// for a step that comes after those that count.
  void skip_unless_finite(const Tensor& loss, const Tensor& squares, const Tensor& skipped,
                          const AverageDecay& average) const;
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
struct Update {
  UpdateTensors tensors;
  UpdateRates rates;
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

// One step each of all these tensors, on one device. They change parameters and moments, and bump
// their versions. A GPU updates all tensors in one launch, or a few if they are hundreds.
using Updates = std::span<const Update>;
void adamw_(Updates updates, const AdamOptions& options);
void lamb_(Updates updates, const AdamOptions& options);
void lars_(Updates updates, const LarsOptions& options);
void lion_(Updates updates, const LionOptions& options);
void sgd_(Updates updates, const SgdOptions& options);
/// For matrices, and for filters [O, C, kh, kw] taken as the matrix [O, C kh kw].
void muon_(Updates updates, const MuonOptions& options);

struct Average {
  Tensor average, value;  ///< contiguous, of equal shape, dtype (f32 or f64) and device
};
/// average <- decay average + (1 - decay) value. decay: one f64 on their device, which may be
/// rewritten between repetitions of a recorded call.
void average_(std::span<const Average> averages, const Tensor& decay);
/// The same with the average_decay of the step.
void average_(std::span<const Average> averages, const UpdateStep& step);

struct Restored {
  Tensor x, before;  ///< contiguous, of equal shape, dtype and device
};
/// x <- before, if the step is skipped.
void restore_if_skipped(std::span<const Restored> tensors, const UpdateStep& step);

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
