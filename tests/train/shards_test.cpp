// Training in shards: the same bits for any number of processes.
#include <doctest/doctest.h>

#include "data/sources/drawn/builtin.h"
#include "tests/support/rotary_run.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_world.h"
#include "tests/support/tiny_run.h"
#include "tests/support/train_watch.h"

namespace fovea {
namespace {

using Bits = std::map<std::string, std::vector<double>>;

/// A run of a few steps over the end of an epoch, in `processes` processes.
Bits trained_bits(TrainConfig config, int processes) {
  config.images.loader.batch_size = 16;
  config.loop.shards = 8;
  config.loop.max_steps = 5;
  std::vector<Bits> bits(static_cast<std::size_t>(processes));
  test::in_threads(processes, [&](Communicator& process) {
    Notices notices;
    const Datasets data = tiny_data();
    auto model = start_model(config, data, notices);
    Trainer trainer = make_trainer(config, data, std::move(model), nullptr, process);
    trainer.share_state();
    CHECK_FALSE(trainer.fit());
    bits[process.rank()] = bits_of(trainer);
  });
  if (config.loop.zero == 1) return bits.front();  // the others have no whole moments
  const Bits first = bits.front();
  for (Bits& own : bits) {
    own["fingerprints"] = first.at("fingerprints");  // which the first process alone computes
    CHECK(own == first);
  }
  return first;
}

void check_processes(const TrainConfig& config) {
  const Bits expected = trained_bits(config, 1);
  for (const int processes : {2, 3, 4, 5, 8}) {
    INFO("processes: ", processes);
    CHECK(trained_bits(config, processes) == expected);
  }
}

TEST_CASE("classifiers have the same bits on 1 to 8 processes") { check_processes(tiny_config()); }

TEST_CASE("coordinates move alike on any number of processes, and in any number of shards") {
  check_processes(tiny_rotary_config());
  TrainConfig config = tiny_rotary_config("mixed");
  config.loop.grad_accum_steps = 2;
  check_processes(config);
}

/// Trains on pictures to the end, with the watch in the first process. Returns its bits.
Bits train_on(const std::shared_ptr<const Dataset>& pictures, const TrainConfig& config,
              int processes, TrainWatch& watch) {
  Bits bits;
  test::in_threads(processes, [&](Communicator& process) {
    Notices notices;
    const Datasets data{pictures, tiny_data().test};
    auto model = start_model(config, data, notices);
    Trainer trainer = make_trainer(config, data, std::move(model), nullptr, process);
    TrainWatch unwatched;
    const bool has_ended = config.loop.max_steps == 0;
    CHECK(trainer.fit(process.is_first() ? watch : unwatched) == has_ended);
    if (process.is_first()) bits = bits_of(trainer);
  });
  return bits;
}

/// The built-in pictures, of which one in five has a label of its own.
class RareLabels : public Builtin {
 public:
  RareLabels() : Builtin(Split::train, {.seed = 3, .train_size = 50, .test_size = 20}) {}
  [[nodiscard]] Sample get(std::int64_t index) const override {
    Sample sample = Builtin::get(index);
    sample.label = label(index);
    return sample;
  }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override { return index % 5 / 4; }
};

TEST_CASE("weights of classes: the mean divides by those of the batch in all shards") {
  TrainConfig config = plain_config();
  classification_of(config).objective.class_weights.by = ClassWeighting::inv_freq;
  config.images.loader.batch_size = 16;
  config.loop.max_steps = config.loop.log_interval = 1;
  const auto first_row = [&](std::int64_t shards, int processes) {
    config.loop.shards = shards;
    StepRow first;
    TrainWatch watch;
    watch.on_interval = [&](const StepRow& row) { first = row; };
    train_on(std::make_shared<RareLabels>(), config, processes, watch);
    return first;
  };
  const StepRow whole = first_row(1, 1), split = first_row(8, 1), shared = first_row(8, 3);
  CHECK(split.loss == doctest::Approx(whole.loss).epsilon(1e-6));
  CHECK(*split.grad_norm == doctest::Approx(*whole.grad_norm).epsilon(1e-5));
  CHECK(shared.loss == split.loss);
  CHECK(shared.grad_norm == split.grad_norm);
  classification_of(config).objective.class_weights.by = ClassWeighting::none;
  CHECK(*first_row(1, 1).grad_norm != doctest::Approx(*whole.grad_norm).epsilon(1e-2));
}

TEST_CASE("weights of classes are those of training: an evaluation has none") {
  TrainConfig config = plain_config();
  config.rate.lr = 1e-30;  // the same model in both
  config.schedule.min_lr = 0;
  config.schedule.warmup_epochs = 0;
  config.schedule.epochs = 1;
  const auto losses = [&](ClassWeighting by) {
    classification_of(config).objective.class_weights.by = by;
    EpochRow last;
    TrainWatch watch;
    watch.on_epoch = [&](const EpochRow& row, const TrainState&) { last = row; };
    train_on(std::make_shared<RareLabels>(), config, 1, watch);
    return std::pair(last.train_loss, last.eval.at(0));
  };
  const auto weighted = losses(ClassWeighting::inv_freq), plain = losses(ClassWeighting::none);
  CHECK(weighted.first != plain.first);
  CHECK(weighted.second == plain.second);
}

TEST_CASE("gradient accumulation has the same bits on any number of processes") {
  TrainConfig config = tiny_config();
  config.loop.grad_accum_steps = 2;
  config.step.clip.limit = 0.5;
  check_processes(config);
}

TEST_CASE("running statistics have the same bits on any number of processes") {
  check_processes(tiny_pervit_config());
}

TEST_CASE("a sharded optimizer has the same bits on any number of processes") {
  for (const OptimizerKind kind :
       {OptimizerKind::adamw, OptimizerKind::lamb, OptimizerKind::muon, OptimizerKind::lion}) {
    TrainConfig config = tiny_config();
    config.step.optimizer.kind = kind;
    config.step.ema.keep = true;
    if (kind != OptimizerKind::lamb) config.step.clip.limit = 0.1;  // LAMB clips by itself
    CAPTURE(static_cast<int>(kind));
    const Bits expected = trained_bits(config, 1);
    config.loop.zero = 1;
    for (const int processes : {2, 3, 4}) CHECK(trained_bits(config, processes) == expected);
  }
}

TEST_CASE("a sharded optimizer clips by units and values as a whole one does") {
  for (const ClipMode mode : {ClipMode::agc, ClipMode::value}) {
    TrainConfig config = tiny_config();
    config.step.clip = {mode, 0.01};
    const Bits expected = trained_bits(config, 1);
    config.loop.zero = 1;
    CHECK(trained_bits(config, 3) == expected);
  }
}

TEST_CASE("a sharded optimizer updates the networks of an autoencoder apart") {
  TrainConfig config = tiny_vae_config();
  const Bits expected = trained_bits(config, 1);
  config.loop.zero = 1;
  CHECK(trained_bits(config, 3) == expected);
}

TEST_CASE("masked autoencoders have the same bits on any number of processes") {
  check_processes(tiny_mae_config());
}

TEST_CASE("autoencoders have the same bits on any number of processes") {
  check_processes(tiny_vae_config());
}

TEST_CASE("diffusion has the same bits on any number of processes") {
  check_processes(tiny_diffusion_config());
}

/// The built-in pictures, of which each tenth is broken.
class PartlyBroken : public Builtin {
 public:
  PartlyBroken() : Builtin(Split::train, {.seed = 3, .train_size = 50, .test_size = 20}) {}
  [[nodiscard]] Sample get(std::int64_t index) const override {
    if (index % 10 == 3) throw ImageError("picture " + std::to_string(index) + ": damaged");
    return Builtin::get(index);
  }
};

/// Trains an epoch with these pictures. Returns the bits and what the first process tells the user.
std::pair<Bits, std::set<std::string>> trained_with_broken(int processes, double limit) {
  TrainConfig config = tiny_config();
  config.images.loader.batch_size = 16;
  config.loop.shards = 8;
  config.loop.max_steps = 5;
  config.run.bad_image_limit = limit;
  std::set<std::string> told;
  TrainWatch watch;
  watch.on_notice = [&](const std::string& text) { told.insert(text); };
  const Bits bits = train_on(std::make_shared<PartlyBroken>(), config, processes, watch);
  return {bits, told};
}

TEST_CASE("broken images are replaced alike on any number of processes, and the first names all") {
  const auto expected = trained_with_broken(1, 0.1);
  CHECK(expected.second.size() == 5);
  for (const int processes : {2, 3}) CHECK(trained_with_broken(processes, 0.1) == expected);
}

TEST_CASE("the broken images of all processes together reach the limit") {
  for (const int processes : {1, 4}) {
    const std::string message = message_of([&] { (void)trained_with_broken(processes, 0.07); });
    CHECK(contains(message, "of 50 images are broken"));
  }
}

}  // namespace
}  // namespace fovea
