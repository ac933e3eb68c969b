// A run small enough for unit tests: a one-block ViT on a few of the built-in pictures.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/sources/drawn/builtin.h"
#include "models/checkpoints/pretrained.h"
#include "tests/support/train_watch.h"
#include "train/loop/trainer.h"
#include "train/start/initial_weights.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"
#include "train/tasks/classification.h"
#include "train/tasks/diffusion.h"

namespace fovea {

/// Six steps per epoch, with all sources of randomness enabled: crops, mixing, drop path.
inline TrainConfig tiny_config() {
  TrainConfig c = config_for(TaskKind::classification);
  c.model.name = "vit_tiny_patch4_32";
  c.model.settings["patch_size"] = "8";
  c.model.settings["depth"] = "2";
  c.model.settings["embed_dim"] = "12";
  c.model.settings["num_heads"] = "2";
  c.model.drop_path = 0.3;
  c.images.loader.batch_size = 8;
  c.evaluation.batch_size = 16;
  c.run.workers = 0;
  c.schedule.epochs = 4;
  c.schedule.warmup_epochs = 1;
  c.rate.lr = 3e-3;
  ClassificationOptions& task = classification_of(c);
  task.objective.smoothing = 0.1;
  task.mix.mixup = 0.8;
  task.mix.cutmix = 1.0;
  c.step.ema.keep = true;
  c.step.ema.decay = 0.9;
  c.loop.log_interval = 4;
  return c;
}

/// A masked autoencoder of the same size and data, with averages.
inline TrainConfig tiny_mae_config() {
  TrainConfig c = tiny_config();
  c.model.name = "mae_vit_tiny_patch4_32";
  c.model.settings["decoder_embed_dim"] = "8";
  c.model.settings["decoder_depth"] = "1";
  c.model.settings["decoder_num_heads"] = "2";
  c.model.drop_path = 0;
  c.task = config_for(TaskKind::masked_autoencoding).task;
  return c;
}

/// A VAE on the same data, with averages.
inline TrainConfig tiny_vae_config() {
  TrainConfig c = tiny_config();
  c.model.name = "vae_f4_32";
  c.model.settings = {};
  c.model.settings["block_out_channels"] = "4,8";
  c.model.settings["layers_per_block"] = "1";
  c.model.settings["norm_num_groups"] = "2";
  c.model.settings["img_size"] = "8";
  c.model.drop_path = 0;
  c.run.normalization = {{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};
  c.task = config_for(TaskKind::autoencoding).task;
  return c;
}

/// A diffusion transformer of the same size and data, with averages and quick samples.
inline TrainConfig tiny_diffusion_config() {
  TrainConfig c = tiny_config();
  c.model.name = "dit_s_4_32";
  c.model.drop_path = 0;
  c.run.normalization = {{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};
  c.task = config_for(TaskKind::diffusion).task;
  diffusion_of(c)->samples.steps = "2";
  return c;
}

/// tiny_config() without randomness in the model and without averages.
inline TrainConfig plain_config() {
  TrainConfig c = tiny_config();
  c.model.drop_path = 0;
  classification_of(c).mix.mixup = classification_of(c).mix.cutmix = 0;
  c.step.ema.keep = false;
  c.schedule.epochs = 2;
  return c;
}

inline Datasets tiny_data(std::int64_t train = 50, std::int64_t test = 20) {
  const BuiltinOptions options{.seed = 3, .train_size = train, .test_size = test};
  return {std::make_shared<Builtin>(Split::train, options),
          std::make_shared<Builtin>(Split::test, options)};
}

/// A PerViT, whose batch norms have running statistics.
inline TrainConfig tiny_pervit_config() {
  TrainConfig config = tiny_config();
  config.model.name = "pervit_tiny_32";
  config.model.settings = {};
  for (const auto& [key, value] : std::map<std::string, std::string>{{"emb_dims", "12,16"},
                                                                     {"depths", "1,1"},
                                                                     {"convstem_dims", "3,8,12"},
                                                                     {"num_heads", "2"}})
    config.model.settings[key] = value;
  return config;
}

/// The model of a new run.
inline std::unique_ptr<Model> start_model(const TrainConfig& config, const Datasets& data,
                                          Notices& notices) {
  std::unique_ptr<Model> model = build_model(config, *data.train, notices);
  set_initial_weights(config.weights, {config.run, data.train->class_names()}, *model, notices);
  return model;
}

inline Trainer make_trainer(const TrainConfig& config) {
  Notices notices;
  const Datasets data = tiny_data();
  return make_trainer(config, data, start_model(config, data, notices));
}

/// Mean loss of each step.
inline std::vector<double> losses_of(Trainer& trainer) {
  std::vector<double> losses;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { losses.push_back(row.loss); };
  CHECK(trainer.fit(watch));
  return losses;
}

/// The loss of a run's first step, of `group` batches of `batch` images.
inline double first_loss(TrainConfig config, std::int64_t batch, std::int64_t group) {
  config.images.loader.batch_size = batch;
  config.loop.grad_accum_steps = group;
  config.loop.max_steps = 1;
  config.loop.log_interval = 1;
  Trainer trainer = make_trainer(config);
  double loss = 0;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& step) { loss = step.loss; };
  CHECK_FALSE(trainer.fit(watch));
  return loss;
}

/// Every bit of a trainer's state: tensors as numbers, and all its progress, letter by letter.
inline std::map<std::string, std::vector<double>> bits_of(Trainer& trainer) {
  const TrainState state = trainer.state();
  std::map<std::string, std::vector<double>> bits;
  for (const auto& [name, tensor] : state_of(*state.model)) bits[name] = tensor.to_vector();
  for (const auto& [name, tensor] : state.moments) bits[name] = tensor.to_vector();
  for (const auto& [name, tensor] : state.averages) bits["ema/" + name] = tensor.to_vector();
  Progress progress = state.progress;
  progress.epoch_seconds = 0;  // measured, so never equal twice
  const FingerprintChain chain = std::exchange(progress.fingerprints, {});
  const std::string fingerprints = chain.last + chain.images,
                    others = format_run_progress(progress);
  bits["fingerprints"].assign(fingerprints.begin(), fingerprints.end());
  bits["progress"].assign(others.begin(), others.end());
  return bits;
}

}  // namespace fovea
