// The training loop: what it learns, that its bits depend on nothing but the settings, and how it
// stops.
#include "train/loop/trainer.h"
#include "models/classifier.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "engine/parallel.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_world.h"
#include "tests/support/tiny_run.h"
#include "train/loop/finite_state.h"

namespace fovea {
namespace {

struct Record {
  std::vector<EpochRow> epochs;
  std::vector<StepRow> steps;
  int saves = 0, stops = 0;
};

/// Notes what happens, and stops the run after `stop_after` steps or evaluation batches.
TrainWatch watch_into(Record& record, std::int64_t stop_after = -1, bool in_evaluation = false) {
  TrainWatch watch;
  const auto left = std::make_shared<std::int64_t>(stop_after);
  const auto count = [left] { --*left; };
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) { record.epochs.push_back(row); };
  watch.on_interval = [&](const StepRow& row) { record.steps.push_back(row); };
  watch.on_save = [&](const TrainState&) { ++record.saves; };
  watch.on_stop = [&](const TrainState&) { ++record.stops; };
  if (in_evaluation) {
    watch.on_evaluate = [count](std::int64_t, std::int64_t) { count(); };
  } else {
    watch.on_step = [count](const EpochPosition&) { count(); };
  }
  if (stop_after >= 0) watch.should_stop = [left] { return *left <= 0; };
  return watch;
}

/// Trains from nothing to the end, with the state at the end.
std::map<std::string, std::vector<double>> trained_bits(const TrainConfig& config) {
  Trainer trainer = make_trainer(config);
  CHECK(trainer.fit());
  return bits_of(trainer);
}

void check_equal_rows(const std::vector<EpochRow>& a, const std::vector<EpochRow>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].epoch == b[i].epoch);
    CHECK(a[i].train_loss == b[i].train_loss);
    CHECK(a[i].eval == b[i].eval);
    CHECK(a[i].ema == b[i].ema);
    CHECK(a[i].lr == b[i].lr);
  }
}

/// Stops a run, continues it in a new trainer from the file, and compares with one that never
/// stopped.
void check_resume(const TrainConfig& config, std::int64_t stop_after, bool in_evaluation) {
  CAPTURE(stop_after);
  Record whole, parts;
  Trainer straight = make_trainer(config);
  TrainWatch watch_whole = watch_into(whole), watch_rest = watch_into(parts);
  TrainWatch watch_first = watch_into(parts, stop_after, in_evaluation);
  REQUIRE(straight.fit(watch_whole));

  const TemporaryFolder folder;
  {
    Trainer first = make_trainer(config);
    REQUIRE_FALSE(first.fit(watch_first));
    CHECK(parts.stops == 1);
    run_state_file(folder / "state.safetensors", first.state()).write();
  }
  Trainer second = make_trainer(config);
  second.resume(folder / "state.safetensors");
  REQUIRE(second.fit(watch_rest));

  CHECK(bits_of(second) == bits_of(straight));
  check_equal_rows(parts.epochs, whole.epochs);
  REQUIRE(parts.steps.size() == whole.steps.size());
  for (std::size_t i = 0; i < parts.steps.size(); ++i) {
    CHECK(parts.steps[i].loss == whole.steps[i].loss);
    CHECK(parts.steps[i].grad_norm == whole.steps[i].grad_norm);
  }
}

/// A model of one weight whose forward pass can be spoilt.
class Toy : public Classifier {
 public:
  enum class Fault { none, cut_graph, infinite };

  explicit Toy(Fault fault) : Classifier(info_of(), 0, {}), fault_(fault) {
    const Scope scope(store());
    weight_ = scope.param("weight", {10}, constant(0));
    unused_ = scope.param("unused", {1}, constant(0));
  }
  ClassifierOutput forward(const Tensor& images, Context&) override {
    const Tensor level = ops::mean(images, {1, 2, 3});  // [B]
    Tensor logits = ops::unsqueeze(level, 1) * weight_;
    if (fault_ != Fault::cut_graph) logits = logits + unused_;
    if (fault_ == Fault::infinite) logits = ops::log(logits * 0.0 - 1.0);
    return {logits, {}};
  }

 private:
  static ModelInfo info_of() {
    ModelInfo info;
    info.name = "toy";
    info.img_size = {32, 32};
    info.num_classes = 10;
    info.config = "{}";
    return info;
  }
  Fault fault_;
  Tensor weight_, unused_;
};

std::string failure_of(TrainConfig config, Toy::Fault fault) {
  config.step.ema.keep = false;
  Trainer trainer = make_trainer(config, tiny_data(), std::make_unique<Toy>(fault));
  return message_of([&] { trainer.train_step(); });
}

}  // namespace

TEST_CASE("a run stopped anywhere and continued has the bits of one that was not") {
  check_resume(tiny_config(), 7, false);   // inside the second epoch
  check_resume(tiny_config(), 12, false);  // after an epoch's last step, before its evaluation
  check_resume(tiny_config(), 3, true);    // inside an evaluation
  check_resume(tiny_mae_config(), 7, false);
  check_resume(tiny_mae_config(), 12, false);
  check_resume(tiny_mae_config(), 3, true);
  check_resume(tiny_vae_config(), 7, false);
  check_resume(tiny_vae_config(), 3, true);
}

TEST_CASE("and so with accumulation, SGD and without averages") {
  TrainConfig config = tiny_config();
  config.loop.grad_accum_steps = 4;  // groups of 4 and 2 batches
  config.step.optimizer.kind = OptimizerKind::sgd;
  config.rate.lr = 0.05;
  config.step.ema.keep = false;
  config.step.clip.limit = 0.5;
  check_resume(config, 5, false);
}

TEST_CASE("bits depend neither on the workers nor on the threads") {
  for (TrainConfig config : {tiny_config(), tiny_mae_config(), tiny_vae_config()}) {
    CAPTURE(config.model.name);
    config.schedule.epochs = 2;
    const auto expected = trained_bits(config);
    config.run.workers = 2;
    CHECK(trained_bits(config) == expected);
    const int threads = num_threads();
    for (const int count : {1, 2, 3}) {
      set_num_threads(count);
      CHECK(trained_bits(config) == expected);
    }
    set_num_threads(threads);
  }
}

TEST_CASE("another seed is another run") {
  TrainConfig config = tiny_config();
  config.schedule.epochs = 1;
  const auto expected = trained_bits(config);
  config.run.seed = 43;
  CHECK(trained_bits(config) != expected);
}

TEST_CASE("it learns: the loss of a few images falls far below chance") {
  TrainConfig config = tiny_config();
  config.model.drop_path = config.images.augment.flip = 0;
  classification_of(config) = {};
  config.images.augment.crop_padding = 0;
  config.model.settings["embed_dim"] = "24";
  config.step.ema.keep = false;
  config.schedule.epochs = 100;
  config.rate.lr = 1e-2;
  Trainer trainer = make_trainer(config);
  Record record;
  TrainWatch watch = watch_into(record);
  REQUIRE(trainer.fit(watch));
  CHECK(record.epochs.front().train_loss > 2.0);
  CHECK(record.epochs.back().train_loss < 0.2);
}

TEST_CASE("every precision and kind of distillation trains") {
  const TemporaryFolder folder;
  TrainConfig teacher = tiny_config();
  {
    Trainer trainer = make_trainer(teacher);
    save_model(folder / "teacher.safetensors", trainer.model());
  }
  for (const DType precision : {DType::f32, DType::bf16}) {
    for (const Distillation type : {Distillation::none, Distillation::soft, Distillation::hard}) {
      CAPTURE(name_of(precision));
      CAPTURE(name_of(type));
      TrainConfig config = tiny_config();
      config.model.name = "deit_tiny_distilled_patch4_32";
      config.run.precision = precision;
      classification_of(config).objective.distillation = type;
      classification_of(config).objective.teacher.checkpoint =
          (folder / "teacher.safetensors").string();
      Trainer trainer = make_trainer(config);
      trainer.train_step();
      CHECK(std::isfinite(trainer.progress().epoch.mean()));
      const Tensor head = trainer.model().store().find("head_dist.weight");
      CHECK(head.grad().defined());
    }
  }
}

TEST_CASE("accumulating two half batches is one whole batch, however gradients are clipped") {
  for (const std::string mode : {"", "norm", "value", "agc"}) {
    CAPTURE(mode);
    TrainConfig whole = tiny_config();
    whole.model.drop_path = 0;
    classification_of(whole).mix.mixup = classification_of(whole).mix.cutmix = 0;
    whole.step.optimizer.kind = OptimizerKind::momentum;
    whole.rate.lr = 1;
    whole.schedule.warmup_lr = 1;  // the first step's rate
    whole.images.loader.batch_size = 16;
    if (!mode.empty()) {
      whole.step.clip.mode = parse_name<ClipMode>("clip mode", mode);
      whole.step.clip.limit = 0.01;
    }
    TrainConfig halves = whole;
    halves.images.loader.batch_size = 8;
    halves.loop.grad_accum_steps = 2;
    Trainer a = make_trainer(whole), b = make_trainer(halves);
    a.train_step();
    b.train_step();
    CHECK(b.progress().forward == 2);
    CHECK(a.progress().epoch.mean() == doctest::Approx(b.progress().epoch.mean()).epsilon(1e-6));
    for (const Parameter& p : a.model().store().parameters()) {
      CAPTURE(p.name);
      const std::vector<double> x = p.tensor.to_vector();
      const std::vector<double> y = b.model().store().find(p.name).to_vector();
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - y[i]) < 1e-5);
    }
  }
}

TEST_CASE("a loss or a gradient that is not finite stops the run and names the step") {
  TrainConfig config = tiny_config();
  classification_of(config).mix.mixup = classification_of(config).mix.cutmix = 0;
  CHECK(failure_of(config, Toy::Fault::none).empty());
  const std::string plain = failure_of(config, Toy::Fault::infinite);
  CHECK(contains(plain, "--detect-anomaly"));
  CHECK(contains(plain, "(step 0, epoch 0)"));
  config.step.detect_anomaly = true;
  const std::string traced = failure_of(config, Toy::Fault::infinite);
  CHECK(contains(traced, "log"));
  CHECK(contains(traced, "(step 0, epoch 0)"));
}

TEST_CASE("weights, moments or averages that are not finite are never handed over to be saved") {
  for (const char* what : {"param/head.weight", "v/head.weight", "ema/head.weight"}) {
    CAPTURE(std::string(what));
    for (const bool at_epochs_end : {true, false}) {
      TrainConfig config = tiny_config();
      config.loop.recovery_interval = at_epochs_end ? 0 : 1;
      Trainer trainer = make_trainer(config);
      Record record;
      TrainWatch watch = watch_into(record);
      watch.on_step = [&](const EpochPosition&) {
        const std::string name = what;
        const TrainState state = trainer.state();
        const Tensor broken = name[0] == 'p'   ? state.model->store().find("head.weight")
                              : name[0] == 'v' ? state.moments.at(name)
                                               : state.averages.at("head.weight");
        if (trainer.progress().step == 6) broken.detach().fill_(std::nan(""));
      };
      const std::string message = message_of([&] { (void)trainer.fit(watch); });
      CHECK(contains(message, "after step 6"));
      CHECK(contains(message, what));
      CHECK(contains(message, "--resume auto"));
      CHECK(record.epochs.empty());
      CHECK(record.saves == (at_epochs_end ? 0 : 5));
    }
  }
}

TEST_CASE("a parameter that no gradient reaches is noticed at the first step") {
  TrainConfig config = tiny_config();
  classification_of(config).mix.mixup = classification_of(config).mix.cutmix = 0;
  CHECK(contains(failure_of(config, Toy::Fault::cut_graph),
                 "no gradient reached 1 parameter: unused"));
}

TEST_CASE("--max-steps stops like a signal does, with a save") {
  TrainConfig config = tiny_config();
  config.loop.max_steps = 8;
  Trainer trainer = make_trainer(config);
  Record record;
  TrainWatch watch = watch_into(record);
  CHECK_FALSE(trainer.fit(watch));
  CHECK(trainer.progress().step == 8);
  CHECK(record.stops == 1);
}

TEST_CASE("--recovery-interval saves between the ends of epochs") {
  TrainConfig config = tiny_config();
  config.loop.recovery_interval = 4;
  config.schedule.epochs = 2;  // 12 steps, of which the last ends an epoch
  Record record;
  Trainer trainer = make_trainer(config);
  TrainWatch watch = watch_into(record);
  CHECK(trainer.fit(watch));
  CHECK(record.saves == 2);
}

TEST_CASE("the state before an evaluation is handed over; outputs that are not finite refuse it") {
  for (const bool finite : {true, false}) {
    CAPTURE(finite);
    TrainConfig config = tiny_config();
    config.loop.recovery_interval = 6;
    Trainer trainer = make_trainer(config);
    Record record;
    TrainWatch watch = watch_into(record);
    std::vector<std::string> events;
    watch.before_evaluating = [&](const TrainState& state) {
      CHECK(state.progress.cursor == Cursor{1, 0});
      CHECK(state.progress.finished_epochs == 0);
      events.emplace_back("before");
    };
    watch.on_refused = [&] { events.emplace_back("refused"); };
    watch.on_evaluate = [&](std::int64_t, std::int64_t) { check(!finite, "cannot evaluate"); };
    watch.on_step = [&](const EpochPosition&) {  // finite weights whose outputs are not
      const Tensor head = trainer.model().store().find("head.weight");
      if (!finite && trainer.progress().step == 6) head.detach().fill_(3e38);
    };
    const std::string message = message_of([&] { (void)trainer.fit(watch); });
    CHECK(contains(message, finite ? "cannot evaluate" : "outputs for 20 of 20 images"));
    CHECK(events == (finite ? std::vector<std::string>{"before"}
                            : std::vector<std::string>{"before", "refused"}));
    CHECK(record.saves == 0);
    CHECK(record.epochs.empty());
  }
}

TEST_CASE("all processes refuse the state, and wait until the first has removed it") {
  std::atomic<bool> removed = false;
  test::in_threads(2, [&](Communicator& process) {
    TrainConfig config = tiny_config();
    config.loop.shards = 2;
    Notices notices;
    const Datasets data = tiny_data();
    Trainer trainer =
        make_trainer(config, data, start_model(config, data, notices), nullptr, process);
    TrainWatch watch;
    watch.on_step = [&](const EpochPosition&) {
      const Tensor head = trainer.model().store().find("head.weight");
      if (trainer.progress().step == 6) head.detach().fill_(3e38);
    };
    watch.on_refused = [&] {
      if (!process.is_first()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      removed = true;
    };
    CHECK_THROWS_AS((void)trainer.fit(watch), RefusedState);
    CHECK(removed);
  });
}

TEST_CASE("a state before an evaluation is evaluated first when it is resumed") {
  const TemporaryFolder folder;
  const auto file = folder / "state.unevaluated.safetensors";
  Record whole, rest;
  Trainer straight = make_trainer(tiny_config());
  TrainWatch watch = watch_into(whole), watch_rest = watch_into(rest);
  watch.before_evaluating = [&](const TrainState& state) {
    if (state.progress.finished_epochs == 1) run_state_file(file, state).write();
  };
  REQUIRE(straight.fit(watch));
  Trainer second = make_trainer(tiny_config());
  second.resume(file);
  std::int64_t steps_before = -1, resumed_at = -1;
  watch_rest.on_resumed = [&](const TrainState& state) { resumed_at = state.progress.step; };
  watch_rest.on_evaluate = [&](std::int64_t, std::int64_t) {
    if (steps_before < 0) steps_before = second.progress().step;
  };
  REQUIRE(second.fit(watch_rest));
  CHECK(resumed_at == 12);
  CHECK(steps_before == 12);
  CHECK(bits_of(second) == bits_of(straight));
  whole.epochs.erase(whole.epochs.begin());
  check_equal_rows(rest.epochs, whole.epochs);
}

/// Pictures of which none can be read after so many.
class VanishingPictures : public Builtin {
 public:
  explicit VanishingPictures(std::int64_t readable)
      : Builtin(Split::train, {.seed = 3, .train_size = 50, .test_size = 20}), left_(readable) {}
  [[nodiscard]] Sample get(std::int64_t index) const override {
    if (left_ == 0) throw ImageError("picture " + std::to_string(index) + ": is gone");
    --left_;
    return Builtin::get(index);
  }

 private:
  mutable std::int64_t left_;
};

TEST_CASE("broken training images end a run, and its last whole step is saved before") {
  TrainConfig config = tiny_pervit_config();  // a forward pass changes its running statistics
  config.images.loader.batch_size = 8;
  config.loop.grad_accum_steps = 2;                              // three steps an epoch
  for (const std::int64_t readable : {16 + 16 + 12, 16 + 12}) {  // in the middle of step 2 and 1
    CAPTURE(readable);
    Notices notices;
    const Datasets data{std::make_shared<VanishingPictures>(readable), tiny_data().test};
    Trainer trainer = make_trainer(config, data, start_model(config, data, notices));
    std::map<std::string, std::vector<double>> saved;
    TrainWatch watch;
    watch.on_stop = [&](const TrainState&) { saved = bits_of(trainer); };
    std::string told;
    watch.on_notice = [&](const std::string& text) { told = text; };
    CHECK_THROWS_AS((void)trainer.fit(watch), TooManyBadImages);

    TrainConfig shorter = config;
    shorter.loop.max_steps = readable / 16;
    Trainer whole = make_trainer(shorter, tiny_data(), start_model(shorter, tiny_data(), notices));
    CHECK_FALSE(whole.fit());
    CHECK(saved == bits_of(whole));
    CHECK(contains(told, "step " + std::to_string(readable / 16) + ", the last whole one"));
  }
}

TEST_CASE("broken images in the first step leave nothing behind") {
  Notices notices;
  const TrainConfig config = tiny_config();
  const Datasets data{std::make_shared<VanishingPictures>(4), tiny_data().test};
  Trainer trainer = make_trainer(config, data, start_model(config, data, notices));
  TrainWatch watch;
  int stops = 0;
  watch.on_stop = [&](const TrainState&) { ++stops; };
  const std::string message = message_of([&] { (void)trainer.fit(watch); });
  CHECK(contains(message, "none of the 50 images can be read"));
  CHECK(contains(message, "(step 0, epoch 0)"));
  CHECK(stops == 0);
}

}  // namespace fovea
