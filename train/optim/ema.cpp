// Exponential moving average of a model's tensors; ops/update/average.cpp has the formula.
#include "train/optim/ema.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "ops/update.h"

namespace fovea {
namespace {

template <class F>
void for_each_saved(const ParameterStore& store, F&& f) {
  for (const Parameter& parameter : store.parameters()) f(parameter);
  for (const Parameter& buffer : store.buffers()) f(buffer);
}

std::map<std::string, Tensor> copies(const ParameterStore& store) {
  std::map<std::string, Tensor> result;
  for_each_saved(store, [&](const Parameter& p) { result[p.name] = p.tensor.detach().clone(); });
  return result;
}

}  // namespace

Ema::Ema(const ParameterStore& store, double decay, bool warmup)
    : decay_(decay), warmup_(warmup), averages_(copies(store)) {
  check(decay >= 0 && decay < 1, "Ema: got decay ", decay, ", expected 0 <= decay < 1");
}

double Ema::decay_at(std::int64_t step) const {
  if (!warmup_) return decay_;
  return std::min(decay_,
                  1 - std::pow(static_cast<double>(std::max<std::int64_t>(step, 1)), -2.0 / 3));
}

/// Writes the decay to the model's device, which holds all averages.
void Ema::write_decay(double decay) {
  const Device device = averages_.begin()->second.device();
  if (!now_.defined()) now_ = empty({1}, {DType::f64, device});
  now_.copy_(from_values({1}, {decay}, {DType::f64, {}}));
}

void Ema::shard_state(const ParameterStore& store, const PortionOf& portion_of) {
  for (const Parameter& p : store.parameters()) {
    const Portion portion = portion_of(p.tensor);
    Tensor& average = averages_.at(p.name);
    if (portion != whole(average)) average = part_of(average, portion).clone();
    portions_[p.name] = portion;
  }
}

Tensor Ema::lend(const std::string& name, const Tensor& part) {
  const auto found = averages_.find(name);
  if (found == averages_.end()) return {};
  const Tensor& average = found->second;
  const bool fits = average.shape() == part.shape() && average.dtype() == part.dtype();
  if (fits) lent_.insert(name);
  return fits ? average : Tensor();
}

/// The averages that were not lent to the optimizer; those of integers are copied at once.
std::vector<ops::Average> Ema::averages_to_update(const ParameterStore& store) {
  std::vector<ops::Average> averages;
  for_each_saved(store, [&](const Parameter& p) {
    const Tensor& average = averages_.at(p.name);
    if (average.numel() == 0 || lent_.contains(p.name)) return;
    const DType dtype = average.dtype();
    if (dtype == DType::f64 || dtype == DType::f32) {
      const auto kept = portions_.find(p.name);
      const Tensor value = p.tensor.contiguous();
      averages.push_back({average, kept == portions_.end() ? value : part_of(value, kept->second)});
    } else {
      average.copy_(p.tensor);
    }
  });
  lent_.clear();
  return averages;
}

void Ema::update(const ParameterStore& store, std::int64_t step) {
  const NoGrad no_grad;
  const std::vector<ops::Average> averages = averages_to_update(store);
  if (averages.empty()) return;
  write_decay(decay_at(step));
  ops::average_(averages, now_);
}

void Ema::update(const ParameterStore& store, const ops::UpdateStep& now) {
  const NoGrad no_grad;
  const std::vector<ops::Average> averages = averages_to_update(store);
  if (!averages.empty()) ops::average_(averages, now);
}

double share_of_first_values(double decay, bool warmup, std::int64_t updates) {
  if (warmup && updates > 0) return 0;
  return std::pow(decay, static_cast<double>(updates));
}

SwappedWeights::SwappedWeights(const ParameterStore& store,
                               const std::map<std::string, Tensor>& values)
    : store_(store), own_(copies(store)) {
  const NoGrad no_grad;
  for_each_saved(store_, [&](const Parameter& p) { p.tensor.copy_(values.at(p.name)); });
}

SwappedWeights::~SwappedWeights() {
  const NoGrad no_grad;
  for_each_saved(store_, [&](const Parameter& p) { p.tensor.copy_(own_.at(p.name)); });
}

}  // namespace fovea
