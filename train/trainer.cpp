// One step, one epoch, one run. All randomness is addressed by (seed, step), so the state of a run
// is its tensors and a handful of counters.
#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "data/mixup.h"
#include "engine/autograd.h"
#include "engine/check.h"
#include "train/gradients.h"

namespace fovea {
namespace {

// One seed gives independent streams to the loader, the model's random ops and the mixing.
constexpr std::uint64_t kModelStream = 0x6D6F64656C;  // "model"
constexpr std::uint64_t kMixStream = 0x6D6978;        // "mix"

std::uint64_t seed_of(const TrainConfig& config) { return static_cast<std::uint64_t>(config.seed); }

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > kShown ? text + ", ..." : text;
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, Datasets data, std::unique_ptr<Model> model)
    : config_(config),
      data_(std::move(data)),
      model_(std::move(model)),
      objective_(config, model_->info()),
      optimizer_(model_->store(), optimizer_options(config)),
      schedule_(schedule_options(config)) {
  if (config_.model_ema) ema_ = std::make_unique<Ema>(model_->store(), config_.model_ema_decay);
  start_loader();
}

void Trainer::start_loader() {
  AugmentOptions augment;
  augment.crop_padding = config_.crop_padding;
  augment.flip = config_.hflip;
  augment.normalization = normalization_of(config_);
  const ImageSize size{model_->info().img_size[0], model_->info().img_size[1]};
  if (size != data_.train->image_size()) augment.size = size;

  LoaderOptions options;
  options.batch_size = config_.batch_size;
  options.workers = static_cast<int>(config_.workers);
  options.seed = seed_of(config_);
  loader_.reset();  // its threads end before the next ones start
  loader_ =
      std::make_unique<Loader>(data_.train, training_pipeline(augment), options, progress_.cursor);
}

void Trainer::resume(const std::filesystem::path& state_file) {
  TrainState loaded = state();
  load_run_state(state_file, loaded);
  check(loaded.progress.cursor.batch < loader_->batches_per_epoch(), state_file.string(),
        ": stands at batch ", loaded.progress.cursor.batch, " of an epoch, but there are only ",
        loader_->batches_per_epoch(), ": is this another data set?");
  progress_ = loaded.progress;
  start_loader();
}

TrainState Trainer::state() {
  TrainState state;
  state.model = model_.get();
  state.optimizer = &optimizer_;
  state.ema = ema_.get();
  state.progress = progress_;
  state.config = to_json(fields_of(config_));
  return state;
}

std::int64_t Trainer::steps_per_epoch() const {
  const std::int64_t group = config_.grad_accum_steps;
  return (loader_->batches_per_epoch() + group - 1) / group;
}

bool Trainer::fit(const TrainWatch& watch) {
  interval_watch_ = {.waited = loader_->wait_seconds()};
  while (progress_.finished_epochs < config_.epochs) {
    if (!train_epoch(watch) || !finish_epoch(watch)) {
      if (watch.on_stop) watch.on_stop(state());
      return false;
    }
  }
  return true;
}

bool Trainer::train_epoch(const TrainWatch& watch) {
  epoch_watch_ = {.waited = loader_->wait_seconds()};
  const double seconds_before = progress_.epoch_seconds;
  while (progress_.cursor.epoch == progress_.finished_epochs) {
    if (must_stop(watch)) return false;
    train_step();
    progress_.epoch_seconds = seconds_before + epoch_watch_.seconds();
    after_step(watch);
  }
  return !must_stop(watch);
}

void Trainer::after_step(const TrainWatch& watch) {
  if (watch.on_step) watch.on_step(position());
  if (progress_.step % config_.log_interval == 0) log_interval(watch);
  const bool recovery =
      config_.recovery_interval > 0 && progress_.step % config_.recovery_interval == 0;
  if (recovery && watch.on_save) watch.on_save(state());
}

bool Trainer::must_stop(const TrainWatch& watch) const {
  const bool enough = config_.max_steps > 0 && progress_.step >= config_.max_steps;
  return enough || (watch.should_stop && watch.should_stop());
}

void Trainer::train_step() {
  const DetectAnomaly detect(config_.detect_anomaly);
  lr_ = learning_rate(schedule_, progress_.step, steps_per_epoch());
  model_->store().zero_grad();
  const std::int64_t batches =
      std::min(config_.grad_accum_steps, loader_->batches_per_epoch() - loader_->cursor().batch);
  const Metrics epoch_before = progress_.epoch;
  try {
    for (std::int64_t i = 0; i < batches; ++i) forward_backward(loader_->next());
    update(batches);
  } catch (const Error& error) {
    fail(error.what(), " (step ", progress_.step, ", epoch ", progress_.finished_epochs, ")");
  }
  const std::int64_t images = progress_.epoch.samples - epoch_before.samples;
  progress_.interval.loss_sum += progress_.epoch.loss_sum - epoch_before.loss_sum;
  progress_.interval.samples += images;
  progress_.cursor = loader_->cursor();
  ++progress_.step;
  for (Stopwatch* watch : {&epoch_watch_, &interval_watch_}) {
    watch->images += images;
    ++watch->steps;
  }
}

void Trainer::forward_backward(const Batch& given) {
  Batch batch{given.images.to(device_of(*model_)), given.labels.to(device_of(*model_))};
  const Targets targets = mix_batch(batch);
  Context ctx;
  ctx.training = true;
  ctx.activations = parse_dtype(config_.precision);
  ctx.seed = stream_of(kModelStream, seed_of(config_));
  ctx.step = static_cast<std::uint64_t>(progress_.forward++);
  const ModelOutput output = model_->forward(batch.images, ctx);
  const Tensor loss = objective_(output, targets, batch.images);
  const double value = loss.item();
  check(std::isfinite(value), "training: the loss is ", std::isnan(value) ? "NaN" : "infinite",
        "; --detect-anomaly says where that arises, a lower --lr or --clip-grad 1 may help");
  backward(loss);
  progress_.epoch.add_loss(value, batch.size());
}

Targets Trainer::mix_batch(Batch& batch) const {
  const bool on = config_.mixup > 0 || config_.cutmix > 0;
  const bool ended =
      config_.mixup_off_epoch > 0 && progress_.finished_epochs >= config_.mixup_off_epoch;
  if (!on || ended) return {batch.labels, {}};
  MixOptions options;
  options.mixup = config_.mixup;
  options.cutmix = config_.cutmix;
  options.probability = config_.mixup_prob;
  options.switch_probability = config_.mixup_switch_prob;
  options.smoothing = config_.smoothing;
  options.classes = model_->info().num_classes;
  Rng rng(seed_of(config_), stream_of(kMixStream, static_cast<std::uint64_t>(progress_.forward)));
  MixedBatch mixed = mix(batch, options, rng);
  batch.images = std::move(mixed.images);
  return {{}, std::move(mixed.targets)};
}

void Trainer::update(std::int64_t batches) {
  model_->finish_backward();
  if (progress_.step == 0) check_first_gradients();
  const double scale = 1 / static_cast<double>(batches);  // gradients hold the batches' sum
  gradient_norm_ = scale * gradient_norm(model_->store());
  check(std::isfinite(gradient_norm_), "training: gradients that are not finite: ",
        list_of(parameters_with_bad_gradient(model_->store())),
        "; --detect-anomaly says where that arises");
  const double clip = config_.clip_grad ? clip_scale(gradient_norm_, *config_.clip_grad) : 1;
  optimizer_.step(lr_, scale * clip);
  if (ema_ != nullptr) ema_->update(model_->store());
}

void Trainer::check_first_gradients() const {
  std::vector<std::string> missing = parameters_without_gradient(model_->store());
  std::erase_if(missing, [&](const std::string& name) { return objective_.is_unused(name); });
  check(missing.empty(), "training: no gradient reached ", missing.size(),
        " parameters: ", list_of(missing), "; is the graph cut somewhere?");
}

void Trainer::log_interval(const TrainWatch& watch) {
  StepRow row;
  row.step = progress_.step;
  row.epoch = progress_.finished_epochs;
  row.loss = progress_.interval.loss();
  row.lr = lr_;
  row.img_s = static_cast<double>(interval_watch_.images) / interval_watch_.seconds();
  row.wait_s = loader_->wait_seconds() - interval_watch_.waited;
  row.grad_norm = gradient_norm_;
  if (watch.on_interval) watch.on_interval(row);
  progress_.interval = {};
  interval_watch_ = {.waited = loader_->wait_seconds()};
}

EpochPosition Trainer::position() const {
  EpochPosition at;
  at.epoch = progress_.finished_epochs;
  at.epochs = config_.epochs;
  at.steps = steps_per_epoch();
  at.step = progress_.step - at.epoch * at.steps;
  at.seconds = epoch_watch_.seconds();
  at.steps_timed = epoch_watch_.steps;
  at.loss = progress_.epoch.loss();
  at.lr = lr_;
  at.img_s = static_cast<double>(epoch_watch_.images) / at.seconds;
  at.wait_share = (loader_->wait_seconds() - epoch_watch_.waited) / at.seconds;
  return at;
}

Evaluation Trainer::evaluate(const TrainWatch& watch) {
  EvaluateOptions options;
  options.batch_size = config_.val_batch_size > 0 ? config_.val_batch_size : config_.batch_size;
  options.workers = static_cast<int>(config_.workers);
  options.normalization = normalization_of(config_);
  options.activations = parse_dtype(config_.precision);
  options.on_batch = [&](std::int64_t done) {
    if (watch.on_evaluate) watch.on_evaluate(done, data_.test->size());
    return !(watch.should_stop && watch.should_stop());
  };
  return fovea::evaluate(*model_, data_.test, options);
}

bool Trainer::finish_epoch(const TrainWatch& watch) {
  EpochRow row;
  row.epoch = progress_.finished_epochs;
  row.train_loss = progress_.epoch.loss();
  row.lr = learning_rate(schedule_, progress_.step - 1, steps_per_epoch());
  row.img_s = progress_.epoch_seconds > 0
                  ? static_cast<double>(progress_.epoch.samples) / progress_.epoch_seconds
                  : 0;
  const Evaluation plain = evaluate(watch);
  if (!plain.complete) return false;
  row.eval_loss = plain.metrics.loss();
  row.eval_top1 = plain.metrics.top1();
  row.eval_top5 = plain.metrics.top5();
  row.seconds = progress_.epoch_seconds + plain.seconds;
  if (ema_ != nullptr) {
    const SwappedWeights averaged(model_->store(), ema_->averages());
    const Evaluation ema = evaluate(watch);
    if (!ema.complete) return false;
    row.ema_loss = ema.metrics.loss();
    row.ema_top1 = ema.metrics.top1();
    row.ema_top5 = ema.metrics.top5();
    row.seconds += ema.seconds;
  }
  note_best(row);
  ++progress_.finished_epochs;
  progress_.epoch = {};
  progress_.epoch_seconds = 0;
  if (watch.on_epoch) watch.on_epoch(row, state());
  return true;
}

void Trainer::note_best(const EpochRow& row) {
  if (*row.eval_top1 > progress_.best_top1) {
    progress_.best_top1 = *row.eval_top1;
    progress_.best_epoch = row.epoch;
  }
  if (row.ema_top1 && *row.ema_top1 > progress_.best_ema_top1) {
    progress_.best_ema_top1 = *row.ema_top1;
    progress_.best_ema_epoch = row.epoch;
  }
}

OptimizerOptions optimizer_options(const TrainConfig& config) {
  OptimizerOptions options;
  options.kind = config.opt == "adamw" ? OptimizerKind::adamw : OptimizerKind::sgd;
  options.weight_decay = config.weight_decay;
  options.beta1 = config.opt_betas.at(0);
  options.beta2 = config.opt_betas.at(1);
  options.eps = config.opt_eps;
  options.momentum = config.momentum;
  options.nesterov = config.opt == "sgd";
  return options;
}

ScheduleOptions schedule_options(const TrainConfig& config) {
  ScheduleOptions options;
  options.kind = parse_schedule(config.sched);
  options.lr = peak_lr(config);
  options.min_lr = std::min(config.min_lr, options.lr);
  options.warmup_lr = std::min(config.warmup_lr, options.lr);
  options.epochs = static_cast<double>(config.epochs);
  options.warmup_epochs = config.warmup_epochs;
  options.decay_epochs = config.decay_epochs;
  options.decay_rate = config.decay_rate;
  options.on_updates = config.sched_on_updates;
  options.lag = config.sched_lag;
  return options;
}

Normalization normalization_of(const TrainConfig& config) {
  Normalization normalization{};
  for (std::size_t c = 0; c < 3; ++c) {
    normalization.mean[c] = static_cast<float>(config.mean.at(c));
    normalization.deviation[c] = static_cast<float>(config.std.at(c));
  }
  return normalization;
}

}  // namespace fovea
