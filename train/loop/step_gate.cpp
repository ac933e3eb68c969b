// Reads the numbers of a step, and passes, skips or refuses the step.
#include "train/loop/step_gate.h"

#include <cmath>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/lists.h"
#include "train/optim/gradients.h"

namespace fovea {
namespace {

/// `of` names the step, if it is not the current one.
void require_finite(double loss, const std::string& of) {
  if (std::isfinite(loss)) return;
  fail("training: the loss", of, " is ", std::isnan(loss) ? "NaN" : "infinite",
       "; --detect-anomaly reports where it arises, a lower --lr or --clip-grad 1 may help, "
       "--skip-nonfinite skips such steps");
}

/// `store` has the step's gradients, or is null if they are gone.
void require_finite_gradients(double norm, const std::string& of, const ParameterStore* store) {
  if (std::isfinite(norm)) return;
  fail("training: gradients", of, " are not finite",
       store == nullptr ? "" : ": " + first_few(parameters_with_bad_gradient(*store), 8),
       "; --detect-anomaly reports where this arises, --skip-nonfinite skips such steps");
}

}  // namespace

StepGate::StepGate(const GuardOptions& options, const ParameterStore& store, Reads reads)
    : guard_(options),
      device_skips_(reads == Reads::skipped_by_device),
      store_(store),
      numbers_(reads == Reads::at_once || (guard_.may_skip() && !device_skips_)) {}

/// A forward pass updates running statistics immediately: a NaN would stay in them forever. After
/// the first pass of several, the next batch may be missing.
void StepGate::begin(std::int64_t step, std::int64_t forwards) {
  numbers_.begin(step);
  buffers_before_.clear();
  if ((!guard_.may_skip() || device_skips_) && forwards == 1) return;
  for (const Parameter& buffer : store_.buffers()) {
    buffers_before_.push_back(buffer.tensor.detach().clone());
  }
}

void StepGate::abandon() {
  numbers_.abandon();
  if (!buffers_before_.empty()) restore_buffers();
}

bool StepGate::admit(const TaskLoss& loss, const Batch& batch) {
  numbers().add_batch(loss, batch.size(), batch.share());
  return !loss_is_bad();
}

std::string StepGate::skip_reason(Progress& progress) {
  if (!numbers_.at_once()) return {};
  gradient_norm_ = numbers().gradient_norm();
  std::string reason = guard_.skip_reason(numbers().loss(), gradient_norm_, progress.guard);
  if (reason.empty()) {
    read_back(progress);
    return reason;
  }
  for (StepResults& step : numbers_.take()) step.add_losses(progress);
  restore_buffers();
  guard_.skip(reason, progress.guard);
  return reason;
}

/// Repeats the device's decision.
bool StepGate::was_skipped(StepResults& step, Progress& progress) {
  const std::string reason = guard_.skip_reason(step.loss(), step.gradient_norm(), progress.guard);
  if (reason.empty()) return false;
  step.add_losses(progress);
  guard_.skip(reason, progress.guard);
  notices_.push_back(skip_notice(step.step(), reason, progress.guard));
  return true;
}

std::int64_t StepGate::read_back(Progress& progress) {
  std::int64_t skipped = 0;
  std::vector<StepResults> unread = numbers_.take();
  for (StepResults& step : unread) {
    const bool has_gradients = &step == &unread.back();  // those of earlier steps are gone
    const std::string of =
        step.step() == progress.step ? "" : " of step " + std::to_string(step.step());
    const double loss = step.loss();
    gradient_norm_ = step.gradient_norm();
    if (device_skips_ && was_skipped(step, progress)) {
      ++skipped;
      continue;
    }
    require_finite(loss, of);
    require_finite_gradients(gradient_norm_, of, has_gradients ? &store_ : nullptr);
    step.add_losses(progress);
    guard_.record(loss, progress.guard);
  }
  return skipped;
}

std::optional<double> StepGate::known_norm() const {
  return numbers_.at_once() ? std::optional(gradient_norm_) : std::nullopt;
}

void StepGate::restore_buffers() const {
  const NoGrad no_grad;
  const std::vector<Parameter>& buffers = store_.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].tensor.copy_(buffers_before_[i]);
}

}  // namespace fovea
