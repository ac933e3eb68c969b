// All randomness is addressed by (seed, forward pass), so a step needs no generator's state.
#include "train/loop/step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "engine/autograd.h"
#include "ops/view.h"

namespace fovea {
namespace {

// One seed gives independent streams to the loader, the model's random ops and the task.
constexpr std::uint64_t kModelStream = 0x6D6F64656C;  // "model"

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > kShown ? text + ", ..." : text;
}

/// `of` tells which step it is where that is no longer the one under way.
void require_finite(double loss, const std::string& of = "") {
  if (std::isfinite(loss)) return;
  fail("training: the loss", of, " is ", std::isnan(loss) ? "NaN" : "infinite",
       "; --detect-anomaly says where that arises, a lower --lr or --clip-grad 1 may help, "
       "--skip-nonfinite leaves such steps out");
}

}  // namespace

TrainStep::TrainStep(const StepOptions& options, Model& model, std::unique_ptr<const Task> task)
    : options_(options),
      model_(model),
      task_(std::move(task)),
      optimizer_(model.store(), options.optimizer),
      guard_(options.guard) {
  if (!options_.ema) return;
  ema_ = std::make_unique<Ema>(model.store(), options_.ema->decay, options_.ema->warmup);
}

std::string TrainStep::run(const std::function<Batch()>& next, std::int64_t batches, double lr,
                           Progress& progress) {
  const DetectAnomaly detect(options_.detect_anomaly);
  model_.store().zero_grad();
  keep_buffers();
  images_ = 0;
  unread_.emplace_back().number = progress.step;
  for (std::int64_t i = 0; i < batches; ++i) {
    Batch batch;
    {
      const StageTimer timer(times_.wait, "wait");
      batch = next();
    }
    forward_backward(batch, progress);
  }
  return update(batches, lr, progress);
}

/// On the CPU nothing is gained by reading later; and what is to be skipped must be known before
/// the update.
bool TrainStep::reads_at_once() const { return model_.device().is_cpu() || guard_.may_skip(); }

void TrainStep::forward_backward(const Batch& prepared, Progress& progress) {
  const Batch batch = uploaded(prepared, model_.device());
  Context ctx;
  ctx.training = true;
  ctx.activations = options_.activations;
  ctx.recompute_blocks = options_.recompute_blocks;
  ctx.any_size = options_.any_size;
  ctx.seed = stream_of(kModelStream, options_.seed);
  ctx.step = static_cast<std::uint64_t>(progress.forward++);
  TaskLoss loss;
  StepNumbers& numbers = unread_.back();
  {
    const StageTimer timer(times_.forward, "forward");
    loss = task_->loss(model_, batch, ctx);
    numbers.losses.emplace_back(loss, batch.size());
    if (reads_at_once() && !std::isfinite(numbers.losses.back().read())) {
      if (!guard_.skips_nonfinite()) require_finite(numbers.losses.back().read());
      return;  // the step will be skipped
    }
  }
  images_ += batch.size();
  const StageTimer timer(times_.backward, "backward");
  backward(loss.total);
}

TrainStep::BatchLoss::BatchLoss(const TaskLoss& loss, std::int64_t count) : samples(count) {
  const NoGrad no_grad;
  std::vector<Tensor> values{ops::reshape(loss.total.detach(), {1})};
  for (const Tensor& part : loss.parts) {
    values.push_back(ops::reshape(part.detach().to(loss.total.dtype()), {1}));
  }
  on_device = values.size() == 1 ? values.front() : ops::cat(values, 0);
}

double TrainStep::BatchLoss::read() {
  if (!on_device.defined()) return total;
  parts = std::exchange(on_device, {}).to(Device{}).to_vector();
  total = parts.front();
  parts.erase(parts.begin());
  return total;
}

double TrainStep::StepNumbers::loss() {
  double sum = 0;
  for (BatchLoss& batch : losses) sum += batch.read();
  return sum / static_cast<double>(losses.size());
}

double TrainStep::StepNumbers::gradient_norm() {
  if (squares.defined()) norm = scale * std::sqrt(std::exchange(squares, {}).item());
  return norm;
}

/// Of those that are finite.
void TrainStep::StepNumbers::add_losses(Progress& progress) {
  for (BatchLoss& batch : losses) {
    if (!std::isfinite(batch.read())) continue;
    for (LossSums* sums : {&progress.epoch, &progress.interval}) {
      sums->add(batch.total, batch.parts, batch.samples);
    }
  }
}

void TrainStep::settle(Progress& progress) {
  std::vector<StepNumbers> unread = std::exchange(unread_, {});
  for (StepNumbers& step : unread) {
    const bool has_gradients = &step == &unread.back();  // those of earlier steps are gone
    const std::string of =
        step.number == progress.step ? "" : " of step " + std::to_string(step.number);
    const double loss = step.loss();
    gradient_norm_ = step.gradient_norm();
    require_finite(loss, of);
    if (!std::isfinite(gradient_norm_)) {
      fail("training: gradients", of, " that are not finite",
           has_gradients ? ": " + list_of(parameters_with_bad_gradient(model_.store())) : "",
           "; --detect-anomaly says where that arises, --skip-nonfinite leaves such steps out");
    }
    step.add_losses(progress);
    guard_.accept(loss, progress.guard);
  }
}

std::string TrainStep::update(std::int64_t batches, double lr, Progress& progress) {
  {
    const StageTimer timer(times_.backward, "backward");
    model_.finish_backward();
  }
  const StageTimer timer(times_.optimizer, "optimizer");
  const double scale = 1 / static_cast<double>(batches);  // gradients hold the batches' sum
  const bool reads = reads_at_once();
  StepNumbers& numbers = unread_.back();
  if (progress.updates == 0 && (!reads || std::isfinite(numbers.loss()))) check_first_gradients();
  numbers.scale = scale;
  const Tensor squares = numbers.squares = gradient_squares(model_.store());
  const std::string objection = reads ? judge(progress) : "";
  if (!objection.empty()) return objection;
  optimizer_.step(lr, clip(squares, scale));
  progress.updates = optimizer_.steps_done();
  if (ema_ != nullptr) ema_->update(model_.store(), progress.updates);
  return {};
}

/// Reads the step's numbers. Returns why it is skipped, or "".
std::string TrainStep::judge(Progress& progress) {
  StepNumbers& numbers = unread_.back();
  gradient_norm_ = numbers.gradient_norm();
  const std::string objection = guard_.objection(numbers.loss(), gradient_norm_, progress.guard);
  if (objection.empty()) {
    settle(progress);
    return {};
  }
  numbers.add_losses(progress);
  unread_.clear();
  restore_buffers();
  guard_.skip(objection, progress.guard);
  return objection;
}

/// A forward pass moves running statistics at once, and one NaN would stay in them for ever.
void TrainStep::keep_buffers() {
  buffers_before_.clear();
  if (!guard_.may_skip()) return;
  for (const Parameter& buffer : model_.store().buffers()) {
    buffers_before_.push_back(buffer.tensor.detach().clone());
  }
}

void TrainStep::restore_buffers() const {
  const NoGrad no_grad;
  const std::vector<Parameter>& buffers = model_.store().buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].tensor.copy_(buffers_before_[i]);
}

/// What the update should multiply the gradients by so that they are means, and clipped.
double TrainStep::clip(const Tensor& squares, double scale) {
  if (!options_.clip) return scale;
  const double limit = options_.clip->limit;
  switch (options_.clip->mode) {
    case ClipMode::norm:
      if (reads_at_once()) return scale * clip_scale(gradient_norm_, limit);
      clip_by_norm(model_.store(), squares, limit, scale);
      return scale;
    case ClipMode::value:
      clip_by_value(model_.store(), limit / scale);
      return scale;
    case ClipMode::agc:
      clip_adaptively(model_.store(), limit, scale);
      return scale;
  }
  return scale;
}

void TrainStep::check_first_gradients() const {
  std::vector<std::string> missing;
  for (const Parameter& p : parameters_without_gradient(model_.store())) {
    if (!task_->is_unused(p)) missing.push_back(p.name);
  }
  check(missing.empty(), "training: no gradient reached ", missing.size(),
        " parameters: ", list_of(missing), "; is the graph cut somewhere?");
}

}  // namespace fovea
