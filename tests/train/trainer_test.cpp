// The training loop: what it learns, and that its bits depend on nothing but the settings.
#include "train/loop/trainer.h"
#include "models/classifier.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/parallel.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/rotary_run.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/training_record.h"

namespace fovea {
namespace {

using tests::check_equal_rows;
using tests::TrainingRecord;
using tests::watch_into;

/// Trains from nothing to the end, with the state at the end.
std::map<std::string, std::vector<double>> trained_bits(const TrainConfig& config) {
  Trainer trainer = make_trainer(config);
  CHECK(trainer.fit());
  return bits_of(trainer);
}

/// Stops a run, continues it in a new trainer from the file, and compares with one that never
/// stopped.
void check_resume(const TrainConfig& config, std::int64_t stop_after, bool in_evaluation) {
  CAPTURE(stop_after);
  TrainingRecord whole, parts;
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
  check_resume(tiny_rotary_config(), 7, false);
}

TEST_CASE("--val-interval: the last epoch is evaluated, those between have no score") {
  TrainConfig config = tiny_config();
  config.loop.val_interval = 3;
  config.schedule.epochs = 5;
  config.schedule.kind = ScheduleKind::plateau;
  config.schedule.patience_epochs = 0;
  TrainingRecord record;
  TrainWatch watch = watch_into(record);
  std::int64_t before = 0;
  watch.before_evaluating = [&](const TrainState&) { ++before; };
  Trainer trainer = make_trainer(config);
  REQUIRE(trainer.fit(watch));
  REQUIRE(record.epochs.size() == 5);
  for (const EpochRow& row : record.epochs) {
    CAPTURE(row.epoch);
    const bool is_due = row.epoch == 2 || row.epoch == 4;
    CHECK(row.eval.empty() != is_due);
    CHECK(row.ema.empty() != is_due);
    CHECK(row.train_loss > 0);
  }
  CHECK(before == 2);
  const std::int64_t best = trainer.progress().best.epoch;
  CHECK((best == 2 || best == 4));

  check_resume(config, 7, false);   // in an epoch that is not evaluated
  check_resume(config, 24, false);  // before the epoch after one that was not
  check_resume(config, 1, true);    // inside the first evaluation
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
  TrainingRecord record;
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
  CHECK(contains(plain, "(step 0, epoch 1)"));
  config.step.detect_anomaly = true;
  const std::string traced = failure_of(config, Toy::Fault::infinite);
  CHECK(contains(traced, "log"));
  CHECK(contains(traced, "(step 0, epoch 1)"));
}

TEST_CASE("a parameter that no gradient reaches is noticed at the first step") {
  TrainConfig config = tiny_config();
  classification_of(config).mix.mixup = classification_of(config).mix.cutmix = 0;
  CHECK(contains(failure_of(config, Toy::Fault::cut_graph),
                 "no gradient reached 1 parameter: unused"));
}

}  // namespace fovea
