// Losses and gradient norms, packed on the device and read once, on demand.
#include "train/loop/step_results.h"

#include <cmath>
#include <utility>

#include "engine/autograd.h"
#include "engine/comm/communicator.h"
#include "engine/fixed_place.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

Tensor copy_of(const Tensor& x) {
  if (!x.defined()) return {};
  const Tensor copy = place_for(x);
  put_into(copy, x);
  return copy;
}

}  // namespace

BatchLoss::BatchLoss(const TaskLoss& loss, std::int64_t samples, double weight)
    : samples_(samples), weight_(weight) {
  const NoGrad no_grad;
  std::vector<Tensor> values;
  const auto add = [&](const Tensor& value) {
    values.push_back(ops::reshape(value.detach().to(loss.total.dtype()), {1}));
  };
  add(loss.total);
  for (const Tensor& part : loss.parts) add(part);
  on_device_ = values.size() == 1 ? values.front() : ops::cat(values, 0);
}

std::vector<double> BatchLoss::numbers() {
  std::vector<double> numbers{static_cast<double>(samples_), weight_, total()};
  numbers.insert(numbers.end(), parts_.begin(), parts_.end());
  return numbers;
}

BatchLoss BatchLoss::from(std::span<const double> numbers) {
  BatchLoss loss;
  loss.samples_ = static_cast<std::int64_t>(numbers[0]);
  loss.weight_ = numbers[1];
  loss.total_ = numbers[2];
  loss.parts_.assign(numbers.begin() + 3, numbers.end());
  return loss;
}

BatchLoss BatchLoss::copied() const {
  BatchLoss copy = *this;
  copy.on_device_ = copy_of(on_device_);
  return copy;
}

double BatchLoss::total() {
  if (!on_device_.defined()) return total_;
  const std::vector<double> values = std::exchange(on_device_, {}).to(Device{}).to_vector();
  total_ = values.front();
  parts_.assign(values.begin() + 1, values.end());
  return total_;
}

Tensor BatchLoss::total_on_device() const {
  const NoGrad no_grad;
  return ops::slice(on_device_, 0, 0, 1).to(DType::f64);
}

void BatchLoss::add_to(Progress& progress) {
  if (!std::isfinite(total())) return;
  for (LossSums* sums : {&progress.epoch, &progress.interval}) sums->add(total_, parts_, samples_);
}

void StepResults::set_gradients(Tensor squares, double scale) {
  squares_ = std::move(squares);
  scale_ = scale;
}

double StepResults::loss() {
  double sum = 0, weights = 0;
  for (BatchLoss& batch : losses_) {
    sum += batch.weight() * batch.total();
    weights += batch.weight();
  }
  return sum / weights;
}

StepResults StepResults::copied(std::int64_t step) const {
  StepResults copy = *this;
  copy.step_ = step;
  for (BatchLoss& loss : copy.losses_) loss = loss.copied();
  copy.squares_ = copy_of(squares_);
  return copy;
}

Tensor StepResults::sum_of_losses() const {
  const NoGrad no_grad;
  Tensor sum = losses_.front().total_on_device();
  for (std::size_t i = 1; i < losses_.size(); ++i) sum = sum + losses_[i].total_on_device();
  return sum;
}

void StepResults::gather(Communicator& processes) {
  if (processes.size() == 1) return;
  std::vector<double> mine;
  for (BatchLoss& loss : losses_) {
    const std::vector<double> numbers = loss.numbers();
    mine.insert(mine.end(), numbers.begin(), numbers.end());
  }
  const std::size_t width = mine.size() / losses_.size();
  losses_.clear();
  for (const std::vector<double>& theirs : all_gather(processes, mine)) {
    for (std::size_t at = 0; at < theirs.size(); at += width)
      losses_.push_back(BatchLoss::from(std::span(theirs).subspan(at, width)));
  }
}

std::int64_t StepResults::samples() const {
  std::int64_t samples = 0;
  for (const BatchLoss& loss : losses_) samples += loss.samples();
  return samples;
}

double StepResults::gradient_norm() {
  if (squares_.defined()) norm_ = scale_ * std::sqrt(std::exchange(squares_, {}).item());
  return norm_;
}

void StepResults::add_losses(Progress& progress) {
  for (BatchLoss& batch : losses_) batch.add_to(progress);
}

bool DeferredResults::loss_is_bad() { return at_once_ && !std::isfinite(current().loss()); }

std::vector<StepResults> DeferredResults::take() { return std::exchange(unread_, {}); }

}  // namespace fovea
