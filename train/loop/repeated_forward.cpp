// Rehearsing, recording and repeating a forward pass.
#include "train/loop/repeated_forward.h"

#include "engine/base/text.h"
#include "engine/cuda/graph.h"
#include "engine/fixed_place.h"
#include "engine/storage.h"

namespace fovea {
namespace {

std::string form_of(const RepeatedForward::Inputs& inputs) {
  std::string form;
  for (const Tensor& x : inputs) form += x.defined() ? concat(x.dtype(), x.shape(), ";") : "none;";
  return form;
}

}  // namespace

RepeatedForward::RepeatedForward(Device device, bool records)
    : device_(device),
      records_(records && device.is_cuda() && cuda::obstacle_to_graphs().empty()) {}

RepeatedForward::~RepeatedForward() = default;

std::vector<Tensor> RepeatedForward::operator()(const Inputs& inputs, const Forward& forward) {
  if (runs_by_op(form_of(inputs))) return read_tensors_at_once(forward(inputs));
  try {
    run(inputs, forward);
    return read(outputs_);
  } catch (const cuda::NotRecordable&) {
    give_up();
  } catch (const OutOfMemory&) {
    give_up();
  }
  return read_tensors_at_once(forward(inputs));
}

/// The first pass of a form does, and those of other forms once there is a recording.
bool RepeatedForward::runs_by_op(const std::string& form) {
  const bool is_recorded = graph_ != nullptr && graph_->is_recorded();
  if (!records_ || (is_recorded && form != form_)) return true;
  alike_ = form == form_ ? alike_ + 1 : 1;
  form_ = form;
  if (alike_ == 2 && ++begun_ > kRecordings) give_up();
  return alike_ == 1 || !records_;
}

/// Frees the memory that passes took so far: a recording has its own.
void RepeatedForward::begin(const Inputs& inputs) {
  outputs_ = {};
  graph_.reset();
  release_cached_memory(device_);
  places_.clear();
  for (const Tensor& x : inputs) places_.push_back(x.defined() ? place_for(x) : x);
  graph_ = std::make_unique<cuda::Graph>(device_.index);
}

void RepeatedForward::run(const Inputs& inputs, const Forward& forward) {
  constexpr int kLastRehearsal = 3;  // the first pass ran op by op
  if (alike_ == 2) begin(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) put_into(places_[i], inputs[i]);
  }
  const auto work = [&] { outputs_ = joined(forward(places_)); };
  if (alike_ <= kLastRehearsal) return graph_->rehearse(work);
  if (!graph_->is_recorded()) graph_->record(work);
  graph_->launch();
}

void RepeatedForward::give_up() {
  records_ = false;
  places_.clear();
  outputs_ = {};
  graph_.reset();
}

}  // namespace fovea
