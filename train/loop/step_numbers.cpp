// Numbers are packed on the device and read when they are asked for, once.
#include "train/loop/step_numbers.h"

#include <cmath>
#include <utility>

#include "engine/autograd.h"
#include "ops/view.h"

namespace fovea {

BatchLoss::BatchLoss(const TaskLoss& loss, std::int64_t samples) : samples_(samples) {
  const NoGrad no_grad;
  std::vector<Tensor> values{ops::reshape(loss.total.detach(), {1})};
  for (const Tensor& part : loss.parts) {
    values.push_back(ops::reshape(part.detach().to(loss.total.dtype()), {1}));
  }
  on_device_ = values.size() == 1 ? values.front() : ops::cat(values, 0);
}

double BatchLoss::total() {
  if (!on_device_.defined()) return total_;
  parts_ = std::exchange(on_device_, {}).to(Device{}).to_vector();
  total_ = parts_.front();
  parts_.erase(parts_.begin());
  return total_;
}

void BatchLoss::add_to(Progress& progress) {
  if (!std::isfinite(total())) return;
  for (LossSums* sums : {&progress.epoch, &progress.interval}) sums->add(total_, parts_, samples_);
}

void StepNumbers::set_gradients(Tensor squares, double scale) {
  squares_ = std::move(squares);
  scale_ = scale;
}

double StepNumbers::loss() {
  double sum = 0;
  for (BatchLoss& batch : losses_) sum += batch.total();
  return sum / static_cast<double>(losses_.size());
}

double StepNumbers::gradient_norm() {
  if (!norm_) norm_ = scale_ * std::sqrt(squares_.item());
  return *norm_;
}

void StepNumbers::add_losses(Progress& progress) {
  for (BatchLoss& batch : losses_) batch.add_to(progress);
}

bool DeferredNumbers::loss_is_bad() { return at_once_ && !std::isfinite(current().loss()); }

std::vector<StepNumbers> DeferredNumbers::take() { return std::exchange(unread_, {}); }

}  // namespace fovea
