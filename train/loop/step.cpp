// The optimizer step. Random numbers are addressed by (seed, forward pass), so a step has no
// generator state.
#include "train/loop/step.h"

#include "engine/autograd.h"
#include "engine/tape_watch.h"
#include "train/run/run_context.h"

namespace fovea {
namespace {

// Distinguishes the model's random stream from the loader's and the task's.
constexpr std::uint64_t kModelStream = 0x6D6F64656C;  // "model"

/// Losses are read before the update on the CPU, where deferring has no benefit, and if other
/// processes have to know them.
StepGate::Reads reads_of(const Model& model, const Exchange& exchange, bool device_skips) {
  if (model.device().is_cpu() || exchange.has_other_processes()) return StepGate::Reads::at_once;
  return device_skips ? StepGate::Reads::skipped_by_device : StepGate::Reads::later;
}

std::unique_ptr<Ema> make_ema(const EmaOptions& options, const ParameterStore& store) {
  return options.keep ? std::make_unique<Ema>(store, options.decay, options.warmup) : nullptr;
}

}  // namespace

TrainStep::TrainStep(const StepOptions& options, const RunContext& run, Model& model,
                     std::unique_ptr<const Task> task, const StepPart& part)
    : options_(options),
      seed_(stream_of(kModelStream, run.seed)),
      precision_(run.precision),
      model_(model),
      task_(std::move(task)),
      optimizer_(model.store(), options.optimizer),
      ema_(make_ema(options.ema, model.store())),
      exchange_(make_exchange({model.store(), *task_, optimizer_, options_.clip, times_}, part)),
      repeater_(make_repeater()),
      gate_(options.guard, model.store(), reads_of(model, *exchange_, repeater_ != nullptr)) {}

std::string TrainStep::run(BatchSource& source, std::int64_t count, double lr, Progress& progress) {
  if (repeater_ != nullptr) return run_on_device(source, count, lr, progress);
  const DetectAnomaly detect(options_.detect_anomaly);
  model_.store().zero_grad();
  gate_.begin(progress.step, count * exchange_->shards().mine());
  try {
    pass_batches(source, count, progress.forward);
  } catch (const AllImagesBad&) {
    gate_.abandon();
    throw;
  }
  progress.forward += count;
  exchange_->finish(gate_.numbers());
  images_ = gate_.numbers().samples();

  const StageTimer timer(times_.optimizer, "optimizer");
  const double scale = 1 / static_cast<double>(count);  // gradients are sums over batches
  const Tensor squares = measure_gradients(scale);
  std::string skipped = gate_.skip_reason(progress);
  if (!skipped.empty()) return skipped;
  optimizer_.step(
      lr, clip_gradients(model_.store(), options_.clip, {squares, gate_.known_norm(), scale}),
      ema_.get());
  progress.updates = optimizer_.steps_done();
  exchange_->share_values();
  if (ema_ != nullptr) ema_->update(model_.store(), progress.updates);
  return {};
}

/// The forward and backward passes of a step, after `done` batches of the run.
void TrainStep::pass_batches(BatchSource& source, std::int64_t count, std::int64_t done) {
  BatchSource& batches = exchange_->begin(source, count);
  const Shards shards = exchange_->shards();
  for (std::int64_t shard = shards.first; shard < shards.end; ++shard) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Batch batch = next_batch(batches);
      const TaskLoss loss = forward(batch, forward_of(done + i, shard, shards.count));
      if (!gate_.admit(loss, batch)) continue;
      const auto sending = exchange_->sending(shard, /*is_last_batch=*/i + 1 == count);
      backward(loss, batch.share());
    }
    finish_backward();
    exchange_->take(shard);
  }
}

Batch TrainStep::next_batch(BatchSource& source) {
  Batch batch;
  {
    const StageTimer timer(times_.wait, "wait");
    batch = source.next();
  }
  return with_values(batch.uploaded(model_.device()));
}

TaskLoss TrainStep::forward(const Batch& batch, std::int64_t number) {
  const StageTimer timer(times_.forward, "forward");
  const ForwardProducts counting(times_.flop);
  Context ctx;
  ctx.training = true;
  ctx.activations = precision_;
  ctx.recompute_blocks = options_.recompute_blocks;
  ctx.any_size = options_.any_size;
  ctx.seed = seed_;
  ctx.step = static_cast<std::uint64_t>(number);
  ctx.step_number = number_in_memory(number);
  ctx.shards = static_cast<std::uint64_t>(exchange_->shards().count);
  return task_->loss(batch, ctx);
}

/// Adds the gradients of `weight` times the loss: a shard's share in the loss of its batch.
void TrainStep::backward(const TaskLoss& loss, double weight) {
  const StageTimer timer(times_.backward, "backward");
  const BackwardProducts counting(times_.flop);
  const Tensor& root = loss.total;
  fovea::backward(root, weight == 1 ? Tensor() : full(root.shape(), weight, root.options()));
}

/// The backward pass of what the model computes once for all batches of a shard.
void TrainStep::finish_backward() {
  const StageTimer timer(times_.backward, "backward");
  const BackwardProducts counting(times_.flop);
  model_.finish_backward();
}

/// The sum of the squares of the summed gradients; `scale` turns these into means.
Tensor TrainStep::measure_gradients(double scale) {
  const auto is_unused = [this](const Parameter& p) { return task_->is_unused(p); };
  const bool is_first = optimizer_.steps_done() == 0 && !gate_.loss_is_bad();
  if (is_first) require_gradients(model_.store(), is_unused);
  Tensor squares = exchange_->squares();
  gate_.numbers().set_gradients(squares, scale);
  return squares;
}

Exchange::Tensors TrainStep::moments() const {
  constexpr std::size_t kPrefix = 2;  // "m/" or "v/"
  return exchange_->whole(optimizer_.state(), kPrefix, /*everywhere=*/false);
}

Exchange::Tensors TrainStep::averages(bool everywhere) const {
  return ema_ == nullptr ? Exchange::Tensors() : exchange_->whole(ema_->averages(), 0, everywhere);
}

}  // namespace fovea
