// The optimizer step; run() lists its stages in order. Random numbers are addressed by (seed,
// forward pass), so a step has no generator state.
#include "train/loop/step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

// Distinguishes the model's random stream from the loader's and the task's.
constexpr std::uint64_t kModelStream = 0x6D6F64656C;  // "model"

/// True if losses must be read immediately: on the CPU, where deferring has no benefit, if a guard
/// has to decide before the update, and if other processes have to know them.
bool reads_at_once(const Model& model, const StepGuard& guard, const StepPart& part) {
  return model.device().is_cpu() || guard.may_skip() || part.processes->size() > 1;
}

void add(std::vector<double>& sums, const std::vector<double>& terms) {
  if (sums.empty()) sums.resize(terms.size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += terms[i];
}

/// Sums over all processes, in the order of ranks: counts, which are exact.
std::vector<double> sum_over_processes(Communicator& processes, const std::vector<double>& mine) {
  std::vector<double> sums;
  for (const std::vector<double>& theirs : all_gather(processes, mine)) add(sums, theirs);
  return sums;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > kShown ? text + ", ..." : text;
}

/// `of` names the step, if it is not the current one.
void require_finite(double loss, const std::string& of = "") {
  if (std::isfinite(loss)) return;
  fail("training: the loss", of, " is ", std::isnan(loss) ? "NaN" : "infinite",
       "; --detect-anomaly reports where it arises, a lower --lr or --clip-grad 1 may help, "
       "--skip-nonfinite skips such steps");
}

std::vector<std::unique_ptr<TrainedGroup>> groups_of(const Task& task, const ParameterStore& store,
                                                     const OptimizerOptions& options) {
  const ParameterSplit split = task.split();
  for (const Parameter& p : store.parameters()) {
    check(split.of(p) < split.groups.size(), "training: the task puts ", p.name, " into group ",
          split.of(p), " of ", split.groups.size());
  }
  std::vector<std::unique_ptr<TrainedGroup>> groups;
  for (std::size_t g = 0; g < split.groups.size(); ++g) {
    groups.push_back(std::make_unique<TrainedGroup>(store, options, split, g));
  }
  return groups;
}

}  // namespace

TrainStep::TrainStep(const StepOptions& options, const RunContext& run, Model& model,
                     std::unique_ptr<const Task> task, const StepPart& part)
    : options_(options),
      run_(run),
      model_(model),
      task_(std::move(task)),
      part_(part),
      groups_(groups_of(*task_, model.store(), options.optimizer)),
      guard_(options.guard),
      numbers_(reads_at_once(model, guard_, part)) {
  const EmaOptions& ema = options_.ema;
  if (is_sharded())
    sums_ = std::make_unique<ShardSums>(model.store(), *part.processes, part.shards, part.summing,
                                        part.shards_optimizer ? divides() : nullptr);
  if (ema.keep) ema_ = std::make_unique<Ema>(model.store(), ema.decay, ema.warmup);
}

std::string TrainStep::run(const std::function<Batch()>& next, std::int64_t batches, double lr,
                           Progress& progress) {
  const DetectAnomaly detect(options_.detect_anomaly);
  const double scale = 1 / static_cast<double>(batches);  // gradients are sums over batches
  begin(progress);
  const std::function<Batch()> ready =
      task_->info().has_divisors && is_sharded() ? with_divisors(next, batches) : next;
  for (std::int64_t shard = part_.shards.first; shard < part_.shards.end; ++shard) {
    run_shard(shard, batches, ready, progress);
  }
  progress.forward += batches;
  sum_shards();

  const StageTimer timer(times_.optimizer, "optimizer");
  measure_gradients(scale);
  const std::string objection = judge(progress);
  if (!objection.empty()) {
    leave_out(objection, progress);
    return objection;
  }
  update(lr, scale, progress);
  if (ema_ != nullptr) ema_->update(model_.store(), progress.updates);
  return {};
}

/// Forward and backward passes of one shard of each batch.
void TrainStep::run_shard(std::int64_t shard, std::int64_t batches,
                          const std::function<Batch()>& next, const Progress& progress) {
  std::optional<OnCompleteGradient> sending;
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = upload_next(next);
    const double weight = batch.share();
    const TaskLoss loss =
        forward(batch, forward_of(progress.forward + i, shard, part_.shards.count));
    numbers_.current().add_batch(loss, batch.size(), weight);
    if (numbers_.loss_is_bad() && !guard_.skips_nonfinite() && part_.processes->size() == 1) {
      require_finite(numbers_.current().loss());
    }
    if (numbers_.loss_is_bad()) continue;  // this step will be skipped
    if (is_sharded() && shard + 1 == part_.shards.end && i + 1 == batches) {
      sending.emplace([this](const Tensor& parameter) { sums_->complete(parameter); });
    }
    backward(loss, weight);
    images_ += batch.size();
  }
  sending.reset();  // finish_backward() runs several tapes that share parameters
  finish_backward();
  if (sums_ != nullptr) sums_->take(shard);
}

/// Adds up gradients, running statistics and losses over all shards.
void TrainStep::sum_shards() {
  if (sums_ == nullptr) return;
  const StageTimer timer(times_.exchange, "exchange");
  sums_->finish();
  times_.sending = sums_->seconds();
  images_ = numbers_.current().gather(*part_.processes);
}

void TrainStep::begin(const Progress& progress) {
  model_.store().zero_grad();
  keep_buffers();
  images_ = 0;
  moved_.assign(groups_.size(), false);
  numbers_.begin(progress.step);
  if (sums_ != nullptr) sums_->begin();
}

/// Loads the step's batches, adds up what their losses divide by over all shards, and returns a
/// function like `next`.
std::function<Batch()> TrainStep::with_divisors(const std::function<Batch()>& next,
                                                std::int64_t batches) {
  const StageTimer timer(times_.wait, "wait");
  auto loaded = std::make_shared<std::vector<Batch>>();
  std::vector<std::vector<double>> sums(static_cast<std::size_t>(batches));
  for (std::int64_t part = 0; part < part_.shards.mine() * batches; ++part) {
    loaded->push_back(next());
    add(sums[part % batches], task_->divisors(loaded->back()));
  }
  for (std::vector<double>& sum : sums) sum = sum_over_processes(*part_.processes, sum);
  for (std::size_t part = 0; part < loaded->size(); ++part) {
    (*loaded)[part].divisors = sums[part % batches];
  }
  return [loaded, part = std::size_t{0}]() mutable { return std::move((*loaded)[part++]); };
}

Batch TrainStep::upload_next(const std::function<Batch()>& next) {
  Batch batch;
  {
    const StageTimer timer(times_.wait, "wait");
    batch = next();
  }
  return batch.uploaded(model_.device());
}

TaskLoss TrainStep::forward(const Batch& batch, std::int64_t number) {
  const StageTimer timer(times_.forward, "forward");
  Context ctx;
  ctx.training = true;
  ctx.activations = run_.precision;
  ctx.recompute_blocks = options_.recompute_blocks;
  ctx.any_size = options_.any_size;
  ctx.seed = stream_of(kModelStream, run_.seed);
  ctx.step = static_cast<std::uint64_t>(number);
  TaskLoss loss = task_->loss(batch, ctx);
  check(loss.total.defined() && loss.further.size() + 1 == groups_.size(),
        "training: the task returned ", loss.further.size() + (loss.total.defined() ? 1 : 0),
        " losses for ", groups_.size(), " groups of parameters; the first group always needs one");
  return loss;
}

/// `weight` is the share of the shard's loss in its batch's.
void TrainStep::backward(const TaskLoss& loss, double weight) {
  const StageTimer timer(times_.backward, "backward");
  const auto of = [&](std::size_t g) { return g == 0 ? loss.total : loss.further[g - 1]; };
  std::size_t last = groups_.size() - 1;
  while (!of(last).defined()) --last;
  for (std::size_t g = 0; g <= last; ++g) {
    if (!of(g).defined()) continue;
    groups_[g]->backward(of(g), weight, g == last ? Tape::freed : Tape::kept);
    moved_[g] = true;
  }
}

void TrainStep::finish_backward() {
  const StageTimer timer(times_.backward, "backward");
  model_.finish_backward();
}

void TrainStep::measure_gradients(double scale) {
  gradients_.assign(groups_.size(), {});
  std::vector<Tensor> squares(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (rests(g)) continue;
    const bool is_first = groups_[g]->optimizer().steps_done() == 0;
    if (is_first && !numbers_.loss_is_bad()) check_first_gradients(*groups_[g]);
    squares[g] = gradients_[g].squares = groups_[g]->squares();
  }
  numbers_.current().set_gradients(std::move(squares), scale);
}

/// The reason to skip the step, or "". Considers only values that are known without waiting for a
/// device.
std::string TrainStep::judge(Progress& progress) {
  if (!numbers_.at_once()) return {};
  StepNumbers& numbers = numbers_.current();
  gradient_norm_ = numbers.gradient_norm();
  for (std::size_t g = 0; g < groups_.size(); ++g) gradients_[g].norm = numbers.gradient_norms()[g];
  std::string objection = guard_.objection(numbers.loss(), gradient_norm_, progress.guard);
  if (objection.empty()) settle(progress);
  return objection;
}

void TrainStep::leave_out(const std::string& objection, Progress& progress) {
  for (StepNumbers& step : numbers_.take()) step.add_losses(progress);
  restore_buffers();
  guard_.skip(objection, progress.guard);
}

void TrainStep::settle(Progress& progress) {
  std::vector<StepNumbers> unread = numbers_.take();
  for (StepNumbers& step : unread) {
    const bool has_gradients = &step == &unread.back();  // gradients of earlier steps are gone
    const std::string of =
        step.step() == progress.step ? "" : " of step " + std::to_string(step.step());
    const double loss = step.loss();
    gradient_norm_ = step.gradient_norm();
    require_finite(loss, of);
    if (!std::isfinite(gradient_norm_)) {
      fail("training: gradients", of, " are not finite",
           has_gradients ? ": " + list_of(parameters_with_bad_gradient(model_.store())) : "",
           "; --detect-anomaly reports where this arises, --skip-nonfinite skips such steps");
    }
    step.add_losses(progress);
    guard_.accept(loss, progress.guard);
  }
}

/// A forward pass updates running statistics immediately, and a NaN would stay in them forever.
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

std::vector<TrainedGroup*> TrainStep::groups() {
  std::vector<TrainedGroup*> all;
  for (const auto& group : groups_) all.push_back(group.get());
  return all;
}

void TrainStep::update(double lr, double scale, Progress& progress) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (rests(g)) continue;
    TrainedGroup& group = *groups_[g];
    group.update(lr, group.clip(options_.clip, scale, gradients_[g]));
    if (g > 0) progress.group_updates[group.name()] = group.optimizer().steps_done();
  }
  progress.updates = groups_.front()->optimizer().steps_done();
  if (portions_ == nullptr) return;
  const StageTimer timer(times_.exchange, "exchange");
  sums_->buckets().share_values();
}

/// Adaptive clipping compares norms of units, for which it needs whole tensors.
GradientBuckets::Divides TrainStep::divides() const {
  const bool by_units = options_.clip.limit && options_.clip.mode == ClipMode::agc;
  return [this, by_units](const Tensor& parameter) {
    return !by_units && std::all_of(groups_.begin(), groups_.end(), [&](const auto& group) {
      return group->optimizer().divides(parameter);
    });
  };
}

void TrainStep::keep_portions() {
  if (!part_.shards_optimizer || !is_sharded()) return;
  portions_ = std::make_unique<Portions>(sums_->buckets(), *part_.processes);
  for (const auto& group : groups_) group->keep(*portions_);
  if (ema_ == nullptr) return;
  ema_->keep(model_.store(), [&](const Tensor& parameter) { return portions_->of(parameter); });
}

Portions::Tensors TrainStep::moments() {
  Portions::Tensors all;
  for (const auto& group : groups_) all.merge(group->optimizer().state());
  constexpr std::size_t prefix = 2;  // "m/" or "v/"
  return portions_ == nullptr ? all : portions_->gather(model_.store(), all, prefix, false);
}

Portions::Tensors TrainStep::averages(bool everywhere) {
  if (ema_ == nullptr) return {};
  const Portions::Tensors& own = ema_->averages();
  return portions_ == nullptr ? own : portions_->gather(model_.store(), own, 0, everywhere);
}

void TrainStep::check_first_gradients(const TrainedGroup& group) const {
  std::vector<std::string> missing;
  for (const Parameter& p : parameters_without_gradient(group.parameters())) {
    if (!task_->is_unused(p)) missing.push_back(p.name);
  }
  check(missing.empty(), "training: no gradient reached ", missing.size(),
        missing.size() == 1 ? " parameter: " : " parameters: ", list_of(missing),
        "; is the graph cut somewhere?");
}

}  // namespace fovea
