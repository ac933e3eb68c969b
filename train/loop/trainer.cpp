// The training loop. A run's state consists of tensors and a few counters.
#include "train/loop/trainer.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/cpu_isa.h"
#include "train/loop/best_epoch.h"
#include "train/loop/finite_state.h"
#include "train/loop/shown_batch.h"
#include "train/run/image_lists.h"

namespace fovea {
namespace {

std::int64_t shard_count(const TrainerOptions& options) {
  return options.shards == 0 ? options.processes->size() : options.shards;
}

Shards own_shards(const TrainerOptions& options) {
  const Communicator& processes = *options.processes;
  return shards_of(shard_count(options), processes.rank(), processes.size());
}

StepPart part_of(const TrainerOptions& options) {
  return {options.processes, own_shards(options),
          options.shards == 0 ? Summing::all_reduce : Summing::tree,
          options.zero == 1 && options.processes->size() > 1};
}

EvaluateOptions evaluation_of(const TrainerOptions& options) {
  EvaluateOptions evaluation = options.evaluation;
  evaluation.graph = options.step.graph && !options.step.is_profiled;
  evaluation.processes = options.processes;
  return evaluation;
}

/// Notes that a run goes on with another instruction set, which may change its bits.
void note_other_isa(Notices& notices, const std::string& before, const Model& model) {
  const std::string now(to_string(cpu_isa()));
  if (before.empty() || before == now || !model.device().is_cpu()) return;
  notices.add(
      "the run so far was computed with the instruction set ", before, ", now it is ", now,
      ": results may differ in the last bits from those of an uninterrupted run (FOVEA_ISA=",
      before, " keeps the set)");
}

}  // namespace

Trainer::Trainer(TrainerOptions options, Datasets data, std::unique_ptr<Model> model,
                 std::unique_ptr<const Task> task)
    : options_(std::move(options)),
      data_(std::move(data)),
      model_(std::move(model)),
      step_(options_.step, options_.run, *model_, std::move(task), part_of(options_)),
      epochs_(total_epochs(options_.schedule, options_.cooldown_epochs)),
      images_(format_image_lists({image_list(*data_.train), image_list(*data_.test)})),
      broken_images_(options_.images.loader.bad_images.limit, data_.train->size(),
                     *options_.processes),
      fingerprint_(
          {options_.fingerprint_interval, options_.overfit_batch, options_.processes->is_first()}),
      evaluation_({data_.test, evaluation_of(options_)}, model_->store(), step_, broken_images_),
      meter_(step_.times()) {
  options_.images.loader.bad_images.limit = 1;  // broken_images_ counts those of all processes
  options_.images.loader.sharding = {own_shards(options_), options_.grad_accum_steps,
                                     step_.task().info().batch_multiple};
  options_.images.loader.rows.raw = takes_raw_pixels(step_.task(), *model_);
  start_loader();
}

ImageSize Trainer::usual_size() const {
  return options_.sizes.keep ? ImageSize{} : step_.task().image_size(*model_);
}

ImageSize Trainer::size_of_epoch(std::int64_t epoch) const {
  return training_size(options_.sizes, usual_size(),
                       {epoch, options_.schedule.epochs, options_.run.seed});
}

void Trainer::start_loader() {
  loader_.reset();  // ends its threads before new ones start
  loader_size_ = size_of_epoch(progress_.cursor.epoch);
  loader_ = training_loader(options_.images, data_.train, loader_size_, progress_.cursor,
                            options_.overfit_batch ? PrepareBatch() : preparation());
  loader_->on_wait = [this](const std::string& what) { observer_->notice(what); };
}

/// The task's batch preparation. The batch's place is derived from the loader's cursor alone,
/// because the workers are ahead of the step.
PrepareBatch Trainer::preparation() const {
  return [&task = step_.task(), layout = layout_of(data_.train->size(), step_size()),
          shards = shard_count(options_)](Batch batch, BatchPart at) {
    return task.prepare(std::move(batch), place_of(at, layout.batches, layout.group, shards));
  };
}

StepSize Trainer::step_size() const {
  return {options_.images.loader.batch_size, options_.grad_accum_steps};
}

EpochLayout Trainer::layout_of(std::int64_t images, StepSize step) const {
  return epoch_layout(images, options_.images.loader.epoch, step);
}

Notices Trainer::resume(const std::filesystem::path& state_file, const ResumeOptions& how) {
  Notices notices;
  TrainState loaded = state();
  load_run_state(state_file, loaded, [&](SavedProgress& saved) {
    const std::string where = state_file.string();
    const std::optional<ImageLists> lists = parse_image_lists(saved.images, where);
    if (!lists) {
      notices.add(where, ": does not record the run's images (saved by an earlier version); ",
                  "continuing with the current images");
    } else if (saved.images != images_) {
      for (const auto& [split, text] : differences(*lists, *data_.train, *data_.test)) {
        check(how.other_images, where, ": was saved by a run with different ", split,
              " images: ", text, "; --accept-other-images continues with the current images");
        notices.add("the ", split, " images differ from the saved run's: ", text);
      }
    }
    note_other_isa(notices, saved.isa, *model_);
    const std::int64_t images = lists ? lists->train.images : data_.train->size();
    const EpochLayout before = layout_of(images, how.step_before.value_or(step_size()));
    require_place(saved.progress, before, where);
    move_place(saved.progress, before, layout_of(data_.train->size(), step_size()));
  });
  progress_ = loaded.progress;
  start_loader();
  return notices;
}

void Trainer::share_state() {
  Communicator& processes = *options_.processes;
  if (processes.size() == 1) return;
  require_same(processes, "images in --data-dir", images_);
  TrainState shared = state();
  broadcast_run_state(shared, processes);
  progress_ = shared.progress;
  step_.shard_state();
  if (!processes.is_first()) start_loader();
}

TrainState Trainer::state() {
  TrainState state;
  state.model = model_.get();
  state.optimizer = &step_.optimizer();
  state.moments = step_.moments();
  state.averages = step_.averages(/*everywhere=*/false);
  state.progress = progress_;
  state.config = options_.settings;
  state.images = images_;
  return state;
}

TrainState Trainer::finite_state() {
  read_back();
  TrainState state = this->state();
  require_finite(state);
  return state;
}

std::int64_t Trainer::steps_per_epoch() const {
  return steps_of(loader_->batches_per_epoch(), options_.grad_accum_steps);
}

/// Sets a trainer's observer for its own lifetime.
class Trainer::Watched {
 public:
  Watched(Trainer& trainer, RunObserver& observer) : trainer_(trainer) {
    trainer_.observer_ = &observer;
  }
  ~Watched() { trainer_.observer_ = &trainer_.nobody_; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Trainer& trainer_;
};

bool Trainer::fit(RunObserver& observer) {
  const Watched watched(*this, observer);
  if (progress_.step > 0) observer.resumed(state());
  meter_.start_interval();
  while (progress_.finished_epochs < epochs_) {
    if (!train_epoch() || !finish_epoch()) {
      observer.stop(finite_state());
      return false;
    }
  }
  return true;
}

bool Trainer::train_epoch() {
  if (size_of_epoch(progress_.cursor.epoch) != loader_size_) start_loader();
  meter_.start_epoch(progress_.epoch_seconds);
  while (progress_.cursor.epoch == progress_.finished_epochs) {
    if (must_stop()) return false;
    step_and_report();
  }
  return !must_stop();
}

/// Broken images end a run after its last whole step is saved, unless it is the first. If a batch
/// cannot be made at all, this process alone knows it, in the middle of a step.
void Trainer::step_and_report() {
  const std::int64_t before = progress_.step;
  try {
    train_step();
    progress_.epoch_seconds = meter_.epoch_seconds();
    after_step();
  } catch (const TooManyBadImages&) {
    const bool all_know = progress_.step > before || options_.processes->size() == 1;
    if (!all_know || before == 0) throw;
    observer_->stop(finite_state());
    wait_for_all();
    observer_->notice("step " + std::to_string(progress_.step) + ", the last whole one, is saved");
    throw;
  }
}

void Trainer::after_step() {
  broken_images_.report_training(loader_->take_bad_images(), *observer_);
  EpochPosition at = meter_.position(progress_, epochs_, steps_per_epoch());
  at.lr = lr_;
  observer_->step(at);
  const auto is_due = [&](std::int64_t steps) { return steps > 0 && progress_.step % steps == 0; };
  if (is_due(options_.log_interval) || fingerprint_.is_due(progress_)) log_interval();
  broken_images_.require_few();
  const bool ends_epoch = progress_.cursor.epoch > progress_.finished_epochs;
  if (is_due(options_.recovery_interval) && !ends_epoch) observer_->save(finite_state());
}

bool Trainer::must_stop() const {
  const bool enough = options_.max_steps > 0 && progress_.step >= options_.max_steps;
  return enough || any(*options_.processes, observer_->asks_to_stop());
}

Batch Trainer::take_batch() {
  if (size_of_epoch(progress_.cursor.epoch) != loader_size_) start_loader();
  const Batch batch = next();
  progress_.cursor = loader_->cursor();
  return batch.uploaded(model_->device());
}

double Trainer::rate_at(std::int64_t step) const {
  return learning_rate(options_.schedule, step, steps_per_epoch(), progress_.plateau);
}

void Trainer::train_step() {
  lr_ = rate_at(progress_.step);
  const Cursor first = loader_->cursor();
  const std::int64_t batches =
      std::min(options_.grad_accum_steps, loader_->batches_per_epoch() - first.batch);
  std::string skipped;
  with_step_in_errors([&] { skipped = step_.run(*this, batches, lr_, progress_); });
  if (!skipped.empty()) {
    observer_->notice(skip_notice(progress_.step, skipped, progress_.guard));
  }
  tell_of_step();
  fingerprint_.add_step(progress_.fingerprints, *loader_, first, batches);
  progress_.cursor = loader_->cursor();
  ++progress_.step;
  meter_.step_done(step_.images());
}

void Trainer::with_step_in_errors(const std::function<void()>& act) const {
  const std::string place = " (step " + std::to_string(progress_.step) + ", epoch " +
                            std::to_string(progress_.finished_epochs + 1) + ")";
  try {
    act();
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(error, place);
  } catch (const AllImagesBad& error) {
    throw AllImagesBad(error.what() + place);
  } catch (const Error& error) {
    fail(error.what(), place);
  }
}

void Trainer::read_back() {
  with_step_in_errors([this] { step_.read_back(progress_); });
  tell_of_step();
}

/// The loader's next batch. With --overfit-batch always the run's first batch, which the task
/// prepares again each time.
Batch Trainer::next() {
  const BatchPart at{loader_->cursor(), loader_->shard()};
  Batch batch = loader_->next();
  const Shards own = own_shards(options_);
  if (options_.overfit_batch) {
    if (only_batches_.empty()) {
      TrainingImages images = options_.images;
      images.loader.sharding.batches_per_step = 1;
      const auto loader = training_loader(images, data_.train, usual_size());
      for (std::int64_t i = 0; i < own.mine(); ++i) only_batches_.push_back(loader->next());
    }
    batch = preparation()(only_batches_[at.shard - own.first], at);
  }
  const bool is_first = progress_.forward == 0 && at.cursor == Cursor{} && at.shard == own.first;
  if (is_first)
    observer_->first_images(shown_batch(step_.task(), with_values(batch), *data_.train));
  return batch;
}

void Trainer::log_interval() {
  read_back();
  const std::string hash = fingerprint_.is_due(progress_)
                               ? fingerprint_.finish(progress_.fingerprints, model_->store())
                               : "";
  StepRow row = meter_.interval_row(progress_);
  row.lr = lr_;
  row.grad_norm = step_.gradient_norm();
  row.bad_images = broken_images_.count();
  row.fingerprint = hash;
  observer_->interval(row);
  progress_.interval = {};
  meter_.start_interval();
}

bool Trainer::finish_epoch() {
  const TrainState trained = finite_state();  // throws before a meaningless evaluation
  const bool evaluates = options_.evaluates_after(progress_.finished_epochs, epochs_);
  if (evaluates) observer_->before_evaluation(trained);
  wait_for_all();
  EpochRow row = meter_.epoch_row(progress_);
  row.lr = rate_at(progress_.step - 1);
  if (evaluates && !evaluate_epoch(row)) return false;
  note_scores(task(), options_.schedule, row, progress_);
  ++progress_.finished_epochs;
  progress_.epoch = {};
  progress_.epoch_seconds = 0;
  observer_->epoch(row, state());
  return true;
}

void Trainer::tell_of_step() {
  for (const std::string& notice : step_.take_notices()) observer_->notice(notice);
}

bool Trainer::evaluate_epoch(EpochRow& row) try {
  try {
    return evaluation_.run(row, progress_, *observer_);
  } catch (const OutOfMemory&) {
    if (!step_.gives_up_recording()) throw;
  }
  tell_of_step();
  return evaluation_.run(row, progress_, *observer_);
} catch (const RefusedState&) {
  observer_->refused();
  wait_for_all();
  throw;
}

void Trainer::wait_for_all() const { static_cast<void>(any(*options_.processes, true)); }

}  // namespace fovea
