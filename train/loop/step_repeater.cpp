// Rehearsing, recording and repeating steps, and going back to single ops.
#include "train/loop/step_repeater.h"

#include <algorithm>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/cuda/graph.h"
#include "engine/storage.h"

namespace fovea {
namespace {

/// The weights and running statistics before a step that may fail on its way.
class BeforeStep {
 public:
  explicit BeforeStep(const ParameterStore& store) : store_(store) {
    for (const Parameter& p : store.parameters()) versions_.push_back(p.tensor.version());
    for (const Parameter& b : store.buffers()) buffers_.push_back(b.tensor.detach().clone());
  }

  /// Whether the step has come as far as its update.
  [[nodiscard]] bool has_update() const {
    for (std::size_t i = 0; i < versions_.size(); ++i) {
      if (store_.parameters()[i].tensor.version() != versions_[i]) return true;
    }
    return false;
  }

  /// Makes all as it was before a step without update. Values computed from weights and kept under
  /// their versions may be unfinished: they get new versions.
  void restore() const {
    const NoGrad no_grad;
    store_.zero_grad();
    for (const Parameter& p : store_.parameters()) p.tensor.bump_version();
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      store_.buffers()[i].tensor.copy_(buffers_[i]);
    }
  }

 private:
  const ParameterStore& store_;
  std::vector<std::uint64_t> versions_;
  std::vector<Tensor> buffers_;
};

}  // namespace

void StepRepeater::write_numbers(std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint64_t>(first + i);
    if (i == std::ssize(numbers_)) {
      numbers_.emplace_back(number);
    } else {
      numbers_[static_cast<std::size_t>(i)].write(number);
    }
  }
}

StepNumber StepRepeater::number(std::int64_t forward) const {
  const auto wanted = static_cast<std::uint64_t>(forward);
  const auto found = std::find_if(numbers_.begin(), numbers_.end(), [=](const StepNumber& number) {
    return number.value() == wanted;
  });
  check(found != numbers_.end(), "step: forward pass ", forward, " is not one of this step");
  return *found;
}

void StepRepeater::run(std::int64_t step, const std::vector<Batch>& batches, StepResults& numbers,
                       const StepWork& work) {
  const std::string form = form_of(batches);
  const bool repeats = recorded_ != nullptr && recorded_->is_recorded();
  if (repeats && recorded_->form() == form) {
    alike_ = 0;
    return recorded_->repeat(batches, numbers);
  }
  alike_ = alike_ > 0 && form == last_form_ ? alike_ + 1 : 1;
  last_form_ = form;
  const bool by_op =
      has_given_up_ || alike_ == 1 || (alike_ == 2 && !begin_recording(step, batches));
  if (!by_op) return rehearse_or_record(batches, numbers, work);
  GivenBatches given(batches);
  work(given);
}

/// Frees the memory that steps took so far: a recording has its own.
bool StepRepeater::begin_recording(std::int64_t step, const std::vector<Batch>& batches) {
  begun_.push_back(step);
  if (begun_.size() > kRecordings &&
      step - begun_[begun_.size() - 1 - kRecordings] < kWithinSteps) {
    give_up(concat("the form of their batches has changed ", kRecordings, " times within ",
                   kWithinSteps, " steps"));
    return false;
  }
  recorded_.reset();
  model_.store().zero_grad();
  release_cached_memory(model_.device());
  recorded_ = std::make_unique<RecordedStep>(batches, model_.store(), flop_);
  return true;
}

void StepRepeater::rehearse_or_record(const std::vector<Batch>& batches, StepResults& numbers,
                                      const StepWork& work) {
  constexpr int kLastRehearsal = 3;  // the first step of a form runs op by op
  const BeforeStep before(model_.store());
  const StepResults unset = numbers;
  std::string why;
  try {
    if (alike_ <= kLastRehearsal) return recorded_->rehearse(batches, work, numbers);
    recorded_->record(batches, work, numbers);
    return recorded_->repeat(batches, numbers);
  } catch (const cuda::NotRecordable& error) {  // nothing has run
    why = error.what();
  } catch (const OutOfMemory& error) {
    if (before.has_update()) throw;
    why = error.what();
  }
  before.restore();
  model_.abandon_step();
  numbers = unset;
  give_up(why);
  GivenBatches given(batches);
  work(given);
}

bool StepRepeater::give_up(const std::string& why) {
  if (has_given_up_) return false;
  has_given_up_ = true;
  notice_ = "steps run op by op from here on, not as a CUDA graph: " + why;
  return std::exchange(recorded_, nullptr) != nullptr;
}

}  // namespace fovea
