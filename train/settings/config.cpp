// Fields of the training configuration, and values derived from several of its parts.
#include "train/settings/config.h"

#include "data/fields.h"
#include "engine/base/text.h"
#include "train/loop/evaluation_pass.h"
#include "train/loop/fields.h"
#include "train/optim/fields.h"

namespace fovea {

Fields fields_of(TrainConfig& config) {
  Fields fields;
  add_fields(fields, config.data);
  add_fields(fields, config.images.augment);
  add_fields(fields, config.model, config.task->kind());
  add_fields(fields, config.images);
  add_fields(fields, config.evaluation);
  config.task->add_fields(fields, config);
  add_fields(fields, config.step);
  add_fields(fields, config.rate);
  add_fields(fields, config.frozen);
  add_fields(fields, config.schedule);
  add_fields(fields, config.request);
  add_fields(fields, config.weights);
  add_fields(fields, config.run);
  add_fields(fields, config.loop);
  add_fields(fields, config.files);
  return grouped(fields, "Run");
}

void apply_settings(TrainConfig& config, const std::vector<Setting>& settings) {
  set_fields(fields_of(config), settings);
  for (const Setting& setting : settings) config.sources[setting.name] = setting.source;
}

DatasetOptions dataset_options(const TrainConfig& config) {
  DatasetOptions options = config.data;
  options.labelled = config.task->info(config).needs_labels;
  options.val_seed = config.run.seed;  // other seeds hold out other images
  ModelSettings settings = config.model.settings;
  // Scenes are drawn at the model's size where that is one number.
  options.scene_side = parse_integer(settings["img_size"]).value_or(options.scene_side);
  return options;
}

TrainingImages training_images(const TrainConfig& config) {
  return images_of(config.images, config.run);
}

EvaluateOptions evaluate_options(const TrainConfig& config) {
  return evaluation_in(config.run, config.evaluation, config.images.loader.batch_size);
}

StepOptions step_options(const TrainConfig& config) {
  StepOptions options = config.step;
  options.any_size = !config.sizes.sides.empty();
  options.is_profiled = config.request.profile > 0;
  return options;
}

ScheduleOptions schedule_options(const TrainConfig& config) {
  return with_peak(config.schedule, peak_lr(config));
}

TrainerOptions trainer_options(const TrainConfig& config) {
  TrainConfig copy = config;  // fields need variables to write to
  return {config.loop,
          config.run,
          step_options(config),
          schedule_options(config),
          training_images(config),
          config.sizes,
          evaluate_options(config),
          to_json(fields_of(copy))};
}

double peak_lr(const TrainConfig& config) {
  return peak_lr(config.rate, config.images.loader.batch_size * config.loop.grad_accum_steps);
}

ImageSize training_size(const TrainConfig& config, ImageSize usual, std::int64_t epoch) {
  return training_size(config.sizes, usual, {epoch, config.schedule.epochs, config.run.seed});
}

void fit_decay(TrainConfig& config, Notices& notices) {
  if (decay_fits(config.schedule)) return;
  const std::string recipes = shortest_text(decay_epochs(config.schedule));
  apply_settings(config, {{"decay-epochs", "0.2", kDerived}});
  notices.add("--decay-epochs 0.2 instead of the recipe's ", recipes, ", as --sched wsd has ",
              shortest_text(epochs_after_warmup(config.schedule)), " epochs after its warm-up");
}

void note_schedule(const TrainConfig& config, Notices& notices) {
  const ScheduleOptions& schedule = config.schedule;
  const double peak = peak_lr(config);
  const auto below_peak = [&](const char* flag, double rate) {
    if (rate <= peak) return;
    notices.add(flag, " ", shortest_text(rate), " is above the peak learning rate, ",
                shortest_text(peak), ", which is used instead");
  };
  if (has_floor(schedule.kind)) below_peak("--min-lr", schedule.min_lr);
  if (schedule.warmup_epochs > 0) below_peak("--warmup-lr", schedule.warmup_lr);
  if (!schedule.warmup_prefix && schedule.warmup_epochs >= schedule.epochs) {
    notices.add("--warmup-epochs ", shortest_text(schedule.warmup_epochs),
                " covers the whole run (", shortest_text(schedule.epochs),
                schedule.epochs == 1 ? " epoch" : " epochs", "), so the learning rate only rises");
  }
}

void note_average(const TrainConfig& config, std::int64_t updates, Notices& notices) {
  const EmaOptions& ema = config.step.ema;
  const double left = share_of_first_values(ema.decay, ema.warmup, updates);
  if (!ema.keep || left <= 0.01) return;
  notices.add("--model-ema-decay ", shortest_text(ema.decay), " keeps ", percent_text(100 * left),
              " of the initial weights in the average after the run's ", updates,
              updates == 1 ? " update" : " updates",
              ", so the average reflects little of the training; use a smaller decay or ",
              "--model-ema-warmup");
}

}  // namespace fovea
