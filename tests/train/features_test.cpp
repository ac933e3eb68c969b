// What a run can do beside plain steps: stored teachers, sizes that grow, steps that are skipped,
// schedules that go on, and what it tells of itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/formats/safetensors.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/loop/training_sizes.h"
#include "train/run/batch_sheet.h"
#include "train/tasks/classifier_evaluation.h"
#include "train/tasks/stored_logits.h"

namespace fovea {
namespace {

/// Its loss is NaN in the forward passes between `first` and `last`. Like running statistics, its
/// buffer "seen" sums up the levels of all images, NaN where the loss is.
class Faulty : public Classifier {
 public:
  Faulty(std::uint64_t first, std::uint64_t last)
      : Classifier(info_of(), 0, {}), first_(first), last_(last) {
    weight_ = Scope(store()).param("weight", {10}, constant(0));
    seen_ = Scope(store()).buffer("seen", {1}, constant(0));
  }
  ClassifierOutput forward(const Tensor& images, Context& ctx) override {
    const Tensor level = ops::unsqueeze(ops::mean(images, {1, 2, 3}), 1);  // [B, 1]
    const bool fault = ctx.training && ctx.step >= first_ && ctx.step < last_;
    const double factor = fault ? NAN : 1.0;
    if (ctx.training) seen_.copy_(seen_ + ops::mean(level.detach(), {0}) * factor);
    return {level * weight_ * factor, {}};
  }

 private:
  static ModelInfo info_of() {
    ModelInfo info;
    info.name = "faulty";
    info.img_size = {32, 32};
    info.num_classes = 10;
    info.config = "{}";
    return info;
  }
  std::uint64_t first_, last_;
  Tensor weight_, seen_;
};

}  // namespace

TEST_CASE("stored logits teach what the model that made them teaches") {
  const TemporaryFolder folder;
  TrainConfig config = plain_config();
  config.images.augment.flip =
      0;  // a teacher that is there looks at the same images as when it was asked
  config.images.augment.crop_padding = 0;
  Trainer teacher = make_trainer(config);
  save_model(folder / "teacher.safetensors", teacher.model());
  const auto data = tiny_data().train;
  ClassifierOptions options;
  options.batch_size = 16;
  options.normalization = config.run.normalization;
  options.keep_logits = true;
  const Tensor logits = evaluate(model_as<Classifier>(teacher.model()), data, options).logits;
  write_safetensors(folder / "logits.safetensors", {{"logits", logits}},
                    logits_metadata("builtin", Split::train, *data));

  for (const Distillation type : {Distillation::soft, Distillation::hard, Distillation::bce}) {
    CAPTURE(name_of(type));
    classification_of(config).objective.distillation = type;
    config.run.seed = 7;
    classification_of(config).objective.teacher.logits.clear();
    classification_of(config).objective.teacher.checkpoint =
        (folder / "teacher.safetensors").string();
    check_config(config);
    Trainer live = make_trainer(config);
    classification_of(config).objective.teacher.checkpoint.clear();
    classification_of(config).objective.teacher.logits = (folder / "logits.safetensors").string();
    check_config(config);
    Trainer stored = make_trainer(config);
    const std::vector<double> a = losses_of(live), b = losses_of(stored);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
  }
  write_safetensors(folder / "logits.safetensors", {{"logits", ops::slice(logits, 0, 0, 49)}});
  CHECK(contains(message_of([&] { make_trainer(config); }),
                 "logits are f32 [49, 10], expected f32 [50, 10]"));
}

TEST_CASE(
    "distillation class by class is tau^2 times the binary cross-entropy at that temperature") {
  const TemporaryFolder folder;
  const std::vector<double> logits{2, -1, 0.5}, taught{3, 0, -3};
  write_safetensors(folder / "logits.safetensors", {{"logits", from_values({1, 3}, taught)}});
  TrainConfig config = plain_config();
  classification_of(config).objective.distillation = Distillation::bce;
  classification_of(config).objective.alpha = 1;
  classification_of(config).objective.tau = 3;
  classification_of(config).objective.teacher.logits = (folder / "logits.safetensors").string();
  ModelInfo info;
  info.num_classes = 3;
  const Datasets data = tiny_data(1);
  const Objective objective(classification_of(config).objective, info, {data.train.get()});
  Batch batch;
  batch.images = zeros({1});
  batch.labels = batch.indices = zeros({1}, {DType::i64, {}});
  batch = objective.prepared(batch);
  const double loss = objective({from_values({1, 3}, logits), {}}, batch).total.item();
  double expected = 0;  // softplus(z) - z t
  for (std::size_t k = 0; k < 3; ++k) {
    const double z = logits[k] / 3, t = 1 / (1 + std::exp(-taught[k] / 3));
    expected += 9 * (std::log1p(std::exp(z)) - z * t) / 3;
  }
  CHECK(loss == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("without a teacher the labels teach both heads' mean, or the class head alone") {
  TrainConfig config = plain_config();
  config.model.name = "deit_tiny_distilled_patch4_32";
  classification_of(config).objective.smoothing = 0;
  ObjectiveOptions& options = classification_of(config).objective;
  const Tensor z = from_values({2, 3}, {2, -1, 0.5, 0, 1, 0});
  const Tensor z_d = from_values({2, 3}, {-1, 4, 1, 3, 1, 2});
  Batch batch;
  batch.labels = from_values({2}, {0, 1}, {DType::i64, {}});
  const auto loss = [&](const ClassifierOutput& output) {
    return Objective(options, {}, {})(output, batch).total.item();
  };
  const double of_mean = loss({(z + z_d) * 0.5, {}}), of_class_head = loss({z, {}});
  CHECK(loss({z, z_d}) == of_mean);
  options.without_teacher = WithoutTeacher::deit;
  CHECK(loss({z, z_d}) == of_class_head);

  for (const WithoutTeacher rule : {WithoutTeacher::timm, WithoutTeacher::deit}) {
    CAPTURE(name_of(rule));
    const bool both = rule == WithoutTeacher::timm;
    options.without_teacher = rule;
    Trainer trainer = make_trainer(config);
    trainer.train_step();
    CHECK(trainer.model().store().find("head_dist.weight").grad().defined() == both);
    REQUIRE(trainer.notices().texts().size() == 1);
    CHECK(contains(trainer.notices().texts()[0],
                   both ? "mean of both heads, as in timm; --without-teacher deit"
                        : "only the class head, as in DeiT's code"));
  }
  config.model.name = "vit_tiny_patch4_32";
  CHECK(make_trainer(config).notices().texts().empty());
}

TEST_CASE("saved settings that do not speak of a teacherless head mean DeiT's rule") {
  const auto rule = [](const std::string& json) {
    return classification_of(saved_config(json, "state")).objective.without_teacher;
  };
  CHECK(rule(R"({"model": "deit_tiny_distilled_patch4_32"})") == WithoutTeacher::deit);
  CHECK(rule(R"({"model": "deit_tiny_distilled_patch4_32", "without-teacher": "timm"})") ==
        WithoutTeacher::timm);
  const TrainConfig fresh = config_for(TaskKind::classification);
  CHECK(classification_of(fresh).objective.without_teacher == WithoutTeacher::timm);
}

TEST_CASE("training sizes rise from the first to the last, epoch by epoch") {
  TrainConfig config = plain_config();
  config.model.name = "cpvt_tiny_peg0_patch4_32";
  config.sizes.sides = {16, 24, 32};
  config.schedule.epochs = 5;
  const auto side = [&](std::int64_t epoch) {
    return training_size(config, {32, 32}, epoch).height;
  };
  CHECK(side(0) == 16);
  CHECK(side(2) == 24);
  CHECK(side(4) == 32);
  CHECK(side(9) == 32);  // cooling down
  Trainer straight = make_trainer(config);
  CHECK(straight.fit());
  const TemporaryFolder folder;
  config.loop.max_steps = 15;  // in the third epoch
  Trainer first = make_trainer(config);
  CHECK_FALSE(first.fit());
  run_state_file(folder / "state.safetensors", first.state()).write();
  config.loop.max_steps = 0;
  Trainer second = make_trainer(config);
  second.resume(folder / "state.safetensors");
  CHECK(second.fit());
  CHECK(bits_of(second) == bits_of(straight));

  config.sizes.schedule = SizeSchedule::random;
  std::vector<std::int64_t> drawn;
  for (std::int64_t epoch = 0; epoch < 60; ++epoch) drawn.push_back(side(epoch));
  for (const std::int64_t size : {16, 24, 32})
    CHECK(std::count(drawn.begin(), drawn.end(), size) > 5);
  CHECK(side(3) == drawn[3]);

  config.sizes.schedule = SizeSchedule::progressive;
  config.sizes.sides = {16, 20, 24, 28, 32};  // as many as epochs: each has its own
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) CHECK(side(epoch) == 16 + 4 * epoch);
}

TEST_CASE("a ViT with learned positions trains at other sizes, and PerViT refuses at once") {
  TrainConfig config = plain_config();
  config.sizes.sides = {16, 40};  // patches of 8
  Trainer trainer = make_trainer(config);
  CHECK(trainer.fit());
  config.sizes.sides = {16, 20};
  CHECK(contains(message_of([&] { make_trainer(config); }),
                 "--train-img-sizes: vit_tiny_patch4_32 does not support size 20"));
  config.model.name = "pervit_tiny_224";
  config.model.settings = {};
  config.sizes.sides = {224, 256};
  CHECK(contains(message_of([&] { make_trainer(config); }),
                 "pervit_tiny_224 does not support size 256"));
}

TEST_CASE("a step whose loss is not finite is skipped when asked, and told") {
  TrainConfig config = plain_config();
  config.step.guard.skip_nonfinite = true;
  config.schedule.epochs = 2;
  Trainer trainer = make_trainer(config, tiny_data(), std::make_unique<Faulty>(3, 5));
  std::vector<std::string> notices;
  TrainWatch watch;
  watch.on_notice = [&](const std::string& text) { notices.push_back(text); };
  CHECK(trainer.fit(watch));
  REQUIRE(notices.size() == 2);
  CHECK(contains(notices[0], "step 3 skipped: the loss is nan (1 so far)"));
  CHECK(contains(notices[1], "step 4 skipped: the loss is nan (2 so far)"));
  CHECK(trainer.progress().step == 12);
  CHECK(trainer.progress().updates == 10);
  CHECK(trainer.progress().guard.skipped == 2);
  for (const double value : trainer.model().store().find("weight").to_vector()) {
    CHECK(std::isfinite(value));
  }
  CHECK(std::isfinite(trainer.progress().best.score));
}

TEST_CASE("an interval whose steps were all skipped has no loss") {
  TrainConfig config = plain_config();
  config.step.guard.skip_nonfinite = true;
  config.loop.log_interval = 1;
  Trainer trainer = make_trainer(config, tiny_data(), std::make_unique<Faulty>(3, 5));
  std::vector<std::int64_t> unknown;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) {
    if (std::isnan(row.loss)) unknown.push_back(row.step);
  };
  CHECK(trainer.fit(watch));
  CHECK(unknown == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("who watched a run is told of nothing that comes after it") {
  TrainConfig config = plain_config();
  config.step.guard.skip_nonfinite = true;
  config.loop.max_steps = 2;
  Trainer trainer = make_trainer(config, tiny_data(), std::make_unique<Faulty>(2, 3));
  int told = 0;
  {
    const auto watch = std::make_unique<TrainWatch>();
    watch->on_notice = [&](const std::string&) { ++told; };
    watch->on_step = [&](const EpochPosition&) { ++told; };
    CHECK_FALSE(trainer.fit(*watch));
    CHECK(told == 2);
    trainer.train_step();  // is skipped
    CHECK(told == 2);
  }
  trainer.train_step();
  CHECK(trainer.progress().guard.skipped == 1);

  TrainWatch failing;
  failing.on_step = [](const EpochPosition&) { fail("enough"); };
  config.loop.max_steps = 0;
  Trainer other = make_trainer(config, tiny_data(), std::make_unique<Faulty>(0, 0));
  CHECK(message_of([&] { static_cast<void>(other.fit(failing)); }) == "enough");
  CHECK(other.fit());  // the observer went with the failure
}

TEST_CASE("a skipped step leaves running statistics as they were, and the averages' warm-up too") {
  TrainConfig config = plain_config();
  config.step.guard.skip_nonfinite = config.step.ema.keep = config.step.ema.warmup = true;
  config.loop.max_steps = 3;
  config.loop.grad_accum_steps = 2;
  Trainer whole = make_trainer(config, tiny_data(), std::make_unique<Faulty>(100, 100));
  CHECK_FALSE(whole.fit());
  const double before = whole.model().store().find("seen").item();
  config.loop.max_steps = 1;
  Trainer skipping =
      make_trainer(config, tiny_data(), std::make_unique<Faulty>(1, 2));  // its second batch
  CHECK_FALSE(skipping.fit());
  CHECK(skipping.progress().guard.skipped == 1);
  CHECK(skipping.model().store().find("seen").item() == 0);
  CHECK(before != 0);

  config.loop.max_steps = 2;  // the first update is the second step: the averages are what it gives
  Trainer second = make_trainer(config, tiny_data(), std::make_unique<Faulty>(0, 2));
  CHECK_FALSE(second.fit());
  CHECK(second.progress().updates == 1);
  CHECK(second.state().averages.at("weight").to_vector() ==
        second.model().store().find("weight").to_vector());
}

TEST_CASE("too many of them in a row stop the run") {
  TrainConfig config = plain_config();
  config.step.guard.skip_nonfinite = true;
  config.step.guard.most_in_row = 2;
  Trainer trainer = make_trainer(config, tiny_data(), std::make_unique<Faulty>(1, 100));
  const std::string message = message_of([&] { static_cast<void>(trainer.fit()); });
  CHECK(contains(message, "3 steps in a row were skipped"));
  CHECK(contains(message, "(step 3, epoch 1)"));
}

TEST_CASE("overfitting one batch learns it by heart, whatever it is shown in between") {
  TrainConfig config = plain_config();
  config.loop.overfit_batch = true;
  classification_of(config).objective.smoothing = 0;
  config.rate.lr = 1e-2;
  config.schedule.epochs = 25;
  config.loop.log_interval = 1;
  Trainer trainer = make_trainer(config);
  const std::vector<double> losses = losses_of(trainer);
  CHECK(losses.front() > 1.5);
  CHECK(losses.back() < 0.1);
}

TEST_CASE("the first batch is shown once, as the model sees it") {
  TrainConfig config = tiny_config();
  config.schedule.epochs = 1;
  Trainer trainer = make_trainer(config);
  std::vector<Shape> seen;
  TrainWatch watch;
  watch.on_first_images = [&](const ShownBatch& batch) { seen.push_back(batch.images.shape()); };
  CHECK(trainer.fit(watch));
  CHECK(seen == std::vector<Shape>{{8, 3, 32, 32}});
}

/// Of a training step of plain_config(), by hand: 16 patches of 192 values, 17 tokens of 12, two
/// blocks, of which the last has one token's query, projection and MLP, and 10 classes. A
/// multiply-add is 2 FLOP; all but the patches need the gradients of two factors.
constexpr double kFlopPerImage =
    2 * (2 * (16 * 192 * 12) +
         3 * (17 * 12 * (12 * 12) + 2 * 17 * 17 * 12 +  // a block's four products and attention
              (17 * 2 + 10) * (12 * 12) + 2 * 17 * 12 + 12 * 10));

TEST_CASE("the stages of a step add up to its time, and the part of the peak is a quotient") {
  TrainConfig config = plain_config();
  config.loop.log_interval = 6;
  Trainer trainer = make_trainer(config);
  trainer.set_peak_rate(1e12);
  std::vector<StepRow> rows;
  std::vector<EpochRow> epochs;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { rows.push_back(row); };
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) { epochs.push_back(row); };
  CHECK(trainer.fit(watch));
  REQUIRE(rows.size() == 2);
  for (const StepRow& row : rows) {
    const StageTimes& t = row.time.stages;
    for (const double seconds : {t.wait, t.forward, t.backward, t.optimizer}) CHECK(seconds > 0);
    CHECK(t.in_stages() <= row.time.seconds);
    CHECK(t.in_stages() + row.time.other() == doctest::Approx(row.time.seconds).epsilon(1e-9));
    REQUIRE(row.mfu.has_value());
    CHECK(*row.mfu == doctest::Approx(row.img_s * kFlopPerImage / 1e12).epsilon(1e-12));
  }
  REQUIRE(epochs.size() == 2);
  CHECK(epochs[0].mfu.has_value());
  CHECK(epochs[0].time.stages.forward > 0);
}

TEST_CASE("data is the bottleneck when training waits for it") {
  CHECK_FALSE(TimeShares{10, {.wait = 1.9}}.data_bound());
  CHECK(TimeShares{10, {.wait = 2.1}}.data_bound());
  CHECK_FALSE(TimeShares{}.data_bound());
}

TEST_CASE("a cool-down adds epochs at the floor, a prefix the warm-up's") {
  TrainConfig config = plain_config();
  config.loop.cooldown_epochs = 2;
  config.schedule.warmup_prefix = true;
  config.schedule.warmup_epochs = 1;
  config.schedule.min_lr = 1e-4;
  Trainer trainer = make_trainer(config);
  std::vector<double> rates;
  TrainWatch watch;
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) { rates.push_back(row.lr); };
  CHECK(trainer.fit(watch));
  CHECK(trainer.epochs() == 5);
  REQUIRE(rates.size() == 5);
  CHECK(rates[2] > 1e-4);
  CHECK(rates[3] == 1e-4);
  CHECK(rates[4] == 1e-4);
}

TEST_CASE("DeiT's distillation token is exempt from decay when asked") {
  for (const bool exempt : {false, true}) {
    CAPTURE(exempt);
    TrainConfig config = plain_config();
    config.model.name = "deit_tiny_distilled_patch4_32";
    config.step.optimizer.decay_dist_token = !exempt;
    config.step.optimizer.weight_decay = 0.5;
    const auto model = [&] {
      Notices notices;
      return build_model(config, *tiny_data().train, notices);
    }();
    Optimizer optimizer(model->store(), config.step.optimizer);
    for (const Parameter& p : model->store().parameters()) {
      p.tensor.set_grad(zeros(p.tensor.shape()));
    }
    const double before = model->store().find("dist_token").at(0);
    optimizer.step(0.1);
    CHECK((model->store().find("dist_token").at(0) == before) == exempt);
    CHECK(model->store().find("cls_token").at(0) != 0);
  }
}

}  // namespace fovea
