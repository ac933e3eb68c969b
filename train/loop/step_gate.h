// Whether a step counts: reads its losses and gradient norm as soon as they are known, and lets it
// pass, skips it or stops the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/scope.h"
#include "train/loop/guards.h"
#include "train/loop/step_results.h"

namespace fovea {

class StepGate {
 public:
  /// When the numbers of a step are read: before its update; or later, in read_back(), unless a
  /// guard has to decide before the update. A device that skips steps decides itself which are not
  /// finite, and read_back() finds out.
  enum class Reads { at_once, later, skipped_by_device };
  /// `store` must outlive the object.
  StepGate(const GuardOptions& options, const ParameterStore& store, Reads reads);

  /// Begins a step of `forwards` forward passes; `step` is Progress::step. Keeps the running
  /// statistics if they may have to be restored.
  void begin(std::int64_t step, std::int64_t forwards);
  /// Forgets the current step, of which a batch is missing: all is as before begin().
  void abandon();
  /// Records a batch's loss. False if the step is already known to be bad: it needs no backward
  /// pass. If it is not skipped, it stops the run in skip_reason(), after its last batch.
  [[nodiscard]] bool admit(const TaskLoss& loss, const Batch& batch);
  [[nodiscard]] bool loss_is_bad() { return numbers_.loss_is_bad(); }
  /// The numbers of the current step.
  [[nodiscard]] StepResults& numbers() { return numbers_.current(); }

  /// Call it when all losses and gradients of the step are there. Skips the step and returns the
  /// reason; or reads it back and returns "". Considers only what is known without waiting for a
  /// device.
  [[nodiscard]] std::string skip_reason(Progress& progress);
  /// Adds the losses of the steps since the last call to progress.epoch and .interval. Throws if a
  /// loss or a gradient is not finite, unless the device has skipped the step. Returns how many it
  /// has skipped.
  std::int64_t read_back(Progress& progress);
  /// Messages about these steps since the last call.
  [[nodiscard]] std::vector<std::string> take_notices() { return std::exchange(notices_, {}); }

  /// Gradient norm of the last step that was read.
  [[nodiscard]] double gradient_norm() const { return gradient_norm_; }
  /// Gradient norm of the current step, if it is known before the update.
  [[nodiscard]] std::optional<double> known_norm() const;

 private:
  void restore_buffers() const;
  [[nodiscard]] bool was_skipped(StepResults& step, Progress& progress);

  StepGuard guard_;
  bool device_skips_;
  const ParameterStore& store_;
  DeferredResults numbers_;
  std::vector<Tensor> buffers_before_;  ///< running statistics before the step
  double gradient_norm_ = 0;
  std::vector<std::string> notices_;
};

}  // namespace fovea
