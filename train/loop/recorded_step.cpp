// Fixed places of batches, and what the host does around a launch.
#include "train/loop/recorded_step.h"

#include <string_view>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "engine/copy.h"
#include "engine/cuda/graph.h"
#include "engine/fixed_place.h"
#include "engine/kept_copy.h"

namespace fovea {
namespace {

void add_form(std::string& form, std::string_view name, const Tensor& value) {
  if (value.defined()) form += concat(name, " ", value.dtype(), value.shape(), value.device(), ";");
}

Batch place_for(const Batch& batch) {
  return batch.mapped([](const Tensor& value, bool /*uploads*/) {
    return value.device().is_cuda() ? fovea::place_for(value) : value;
  });
}

/// Members that stay on the CPU are not part of the recorded work.
void put_into(const Batch& place, const Batch& batch) {
  const auto put = [](const Tensor& to, const Tensor& value) {
    if (value.defined() && value.device().is_cuda()) fovea::put_into(to, value);
  };
  put(place.images, batch.images);
  put(place.labels, batch.labels);
  for (std::size_t i = 0; i < batch.others.size(); ++i)
    put(place.others[i].value, batch.others[i].value);
}

}  // namespace

std::string form_of(const std::vector<Batch>& batches) {
  std::string form;
  for (const Batch& batch : batches) {
    add_form(form, "images", batch.images);
    add_form(form, "labels", batch.labels);
    for (const BatchMember& member : batch.others) add_form(form, member.name, member.value);
    form += "\n";
  }
  return form;
}

RecordedStep::RecordedStep(const std::vector<Batch>& like, const ParameterStore& store,
                           double& flop)
    : graph_(std::make_unique<cuda::Graph>(store.options().device.index)),
      form_(form_of(like)),
      flop_(flop) {
  for (const Batch& batch : like) places_.push_back(place_for(batch));
  for (const Parameter& parameter : store.parameters()) tensors_.push_back({parameter.tensor});
  for (const Parameter& buffer : store.buffers()) tensors_.push_back({buffer.tensor});
}

RecordedStep::~RecordedStep() = default;

bool RecordedStep::is_recorded() const { return graph_->is_recorded(); }

void RecordedStep::place(const std::vector<Batch>& batches) const {
  for (std::size_t i = 0; i < batches.size(); ++i) put_into(places_[i], batches[i]);
}

void RecordedStep::run(const StepWork& work) const {
  GivenBatches given(places_);
  work(given);
}

/// The copies of weights are made before, where an evaluation has changed them: the recorded step
/// finds them as they are after an update.
void RecordedStep::rehearse(const std::vector<Batch>& batches, const StepWork& work,
                            StepResults& numbers) {
  place(batches);
  for (const RecordedTensor& each : tensors_) refresh_copy(each.tensor);
  graph_->rehearse([&] { run(work); });
  numbers = numbers.copied(numbers.step());
}

void RecordedStep::record(const std::vector<Batch>& batches, const StepWork& work,
                          const StepResults& numbers) {
  place(batches);
  std::vector<std::uint64_t> versions;
  for (const RecordedTensor& each : tensors_) {
    refresh_copy(each.tensor);
    versions.push_back(each.tensor.version());
  }
  const double before = flop_;
  graph_->record([&] { run(work); });
  flop_of_step_ = std::exchange(flop_, before) - before;  // repeat() adds it
  results_ = numbers;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    RecordedTensor& each = tensors_[i];
    each.copy = current_copy(each.tensor);
    each.gradient = each.tensor.grad();
    each.changes = each.tensor.version() != versions[i];
  }
}

/// Copies of weights and gradients may have been replaced since, by an evaluation with averages or
/// by a step that was not repeated.
void RecordedStep::restore_places() const {
  const NoGrad no_grad;
  for (const auto& [tensor, copy, gradient, changes] : tensors_) {
    if (copy.defined() && !current_copy(tensor).is_same(copy)) {
      copy_into(copy, tensor.detach());
      keep_copy(tensor, copy);
    }
    if (gradient.defined() && !tensor.grad().is_same(gradient)) tensor.set_grad(gradient);
  }
}

void RecordedStep::note_changes() const {
  for (const auto& [tensor, copy, gradient, changes] : tensors_) {
    if (!changes) continue;
    tensor.bump_version();
    if (copy.defined()) set_copy_current(tensor);
  }
}

void RecordedStep::repeat(const std::vector<Batch>& batches, StepResults& numbers) {
  place(batches);
  restore_places();
  graph_->launch();
  note_changes();
  flop_ += flop_of_step_;
  numbers = results_->copied(numbers.step());
}

}  // namespace fovea
