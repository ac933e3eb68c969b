// TrainStep::run on a device that is not asked before the update: the host draws the batches,
// writes the step's numbers to the device's memory and enqueues the work, op by op or as a graph.
#include "engine/cuda/graph.h"
#include "ops/update.h"
#include "train/loop/step.h"
#include "train/loop/step_repeater.h"

namespace fovea {
namespace {

/// The running statistics before a step that the device may skip.
class BuffersOfStep {
 public:
  BuffersOfStep(const ParameterStore& store, bool may_skip) {
    if (!may_skip) return;
    for (const Parameter& buffer : store.buffers())
      buffers_.push_back({buffer.tensor, buffer.tensor.detach().clone()});
  }
  void restore_if_skipped(const ops::UpdateStep& step) const {
    ops::restore_if_skipped(buffers_, step);
  }

 private:
  std::vector<ops::Restored> buffers_;
};

}  // namespace

/// Why the host has to take part in each step, or "".
std::string TrainStep::obstacle_to_recording() const {
  if (options_.guard.zscore) return "--spike-zscore decides after each step whether it counts";
  if (options_.detect_anomaly) return "--detect-anomaly looks at the result of each op";
  if (options_.is_profiled) return "--profile measures each op";
  if (task_->info().decides_on_host) return "this task's loss is computed in part on the CPU";
  if (exchange_->shards() != Shards{} || exchange_->has_other_processes())
    return "gradients of shards and processes are added up on their way";
  if (model_.store().parameter_count() == 0) return "nothing is trained";
  return cuda::obstacle_to_graphs();
}

std::shared_ptr<StepRepeater> TrainStep::make_repeater() {
  if (model_.device().is_cpu() || !obstacle_to_recording().empty()) return nullptr;
  return std::make_shared<StepRepeater>(model_, times_.flop, options_.graph);
}

Notices TrainStep::notices() const {
  Notices notices;
  if (model_.device().is_cuda() && options_.graph && repeater_ == nullptr)
    notices.add("steps run op by op, not as a CUDA graph: ", obstacle_to_recording());
  return notices;
}

std::vector<std::string> TrainStep::take_notices() {
  std::vector<std::string> notices = gate_.take_notices();
  const std::string own = repeater_ == nullptr ? "" : repeater_->take_notice();
  if (!own.empty()) notices.push_back(own);
  return notices;
}

void TrainStep::read_back(Progress& progress) {
  const std::int64_t skipped = gate_.read_back(progress);
  if (skipped == 0) return;
  optimizer_.skipped(skipped);
  progress.updates = optimizer_.steps_done();
}

bool TrainStep::gives_up_recording() {
  return repeater_ != nullptr && repeater_->give_up("an evaluation needs their memory");
}

StepNumber TrainStep::number_in_memory(std::int64_t forward) const {
  return repeater_ == nullptr ? StepNumber() : repeater_->number(forward);
}

std::string TrainStep::run_on_device(BatchSource& source, std::int64_t count, double lr,
                                     Progress& progress) {
  std::vector<Batch> batches;
  for (std::int64_t i = 0; i < count; ++i) batches.push_back(next_batch(source));
  gate_.begin(progress.step, /*forwards=*/1);  // no batch is missing any more
  const double scale = 1 / static_cast<double>(count);
  const bool is_first = optimizer_.steps_done() == 0;
  repeater_->write_numbers(progress.forward, count);
  optimizer_.begin_step(lr, scale, ema_.get());
  repeater_->run(progress.step, batches, gate_.numbers(), [&](BatchSource& given) {
    const BuffersOfStep buffers(model_.store(), options_.guard.skip_nonfinite);
    model_.store().zero_grad();
    pass_batches(given, count, progress.forward);
    const StageTimer timer(times_.optimizer, "optimizer");
    if (is_first) {
      require_gradients(model_.store(), [&](const Parameter& p) { return task_->is_unused(p); });
    }
    const Tensor squares = measure_gradients(scale);
    if (options_.guard.skip_nonfinite)
      optimizer_.skip_unless_finite(gate_.numbers().sum_of_losses(), squares, ema_.get());
    optimizer_.update(clip_gradients(model_.store(), options_.clip, {squares, /*norm=*/{}, scale}),
                      ema_.get());
    buffers.restore_if_skipped(optimizer_.now());
    if (ema_ != nullptr) ema_->update(model_.store(), optimizer_.now());
  });
  progress.forward += count;
  progress.updates = optimizer_.steps_done();
  images_ = gate_.numbers().samples();
  return {};
}

}  // namespace fovea
