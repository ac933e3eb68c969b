// Copies of the step number in the memory of each device that reads it.
#include "engine/step_key.h"

#include <span>

#include "engine/copy.h"

namespace fovea {
namespace {

Tensor tensor_of(std::uint64_t value) {
  return from_bytes({1}, DType::i64, std::as_bytes(std::span(&value, 1)));
}

}  // namespace

StepNumber::StepNumber(std::uint64_t value) : state_(std::make_shared<State>(State{value})) {}

void StepNumber::write(std::uint64_t value) const {
  state_->value = value;
  for (const Tensor& copy : state_->copies) copy_into(copy, tensor_of(value));
}

Tensor StepNumber::on(Device device) const {
  for (const Tensor& copy : state_->copies) {
    if (copy.device() == device) return copy;
  }
  return state_->copies.emplace_back(tensor_of(state_->value).to(device));
}

RandomKey StepKey::now() const {
  return step_.defined() ? RandomKey{key_.seed, stream_of(step_.value(), key_.stream)} : key_;
}

KernelKey StepKey::on(Device device) const {
  const Tensor step = step_on(device);
  const void* const number = step.defined() ? step.raw() : nullptr;
  return {key_.seed, key_.stream, static_cast<const std::uint64_t*>(number)};
}

Tensor StepKey::step_on(Device device) const {
  return step_.defined() ? step_.on(device) : Tensor();
}

}  // namespace fovea
