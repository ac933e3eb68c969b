// A step with two losses: a generator and a discriminator, each learning from its own.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/optim/gradients.h"

namespace fovea {
namespace {

/// Makes three numbers of an image's colours, and judges three numbers.
class Rivals : public Model {
 public:
  Rivals() : Model(info_of(), 0, {}) {
    const Scope scope(store());
    make_ = (scope / "generator").param("weight", {3}, constant(0.5));
    judge_ = (scope / "discriminator").param("weight", {3}, constant(0.3));
    bias_ = (scope / "discriminator").param("bias", {1}, constant(0.1));
  }
  Tensor probe(const Tensor& images, Context&) override { return judged(made(images)); }

  [[nodiscard]] static Tensor real(const Tensor& images) { return ops::mean(images, {2, 3}); }
  [[nodiscard]] Tensor made(const Tensor& images) const { return real(images) * make_; }
  [[nodiscard]] Tensor judged(const Tensor& colours) const {
    return ops::sum(colours * judge_, {1}) + bias_;
  }

 private:
  static ModelInfo info_of() {
    ModelInfo info;
    info.name = "rivals";
    info.img_size = {32, 32};
    info.config = "{}";
    return info;
  }
  Tensor make_, judge_, bias_;
};

Tensor far_from(const Tensor& judged, double target) {
  const Tensor off = judged - target;
  return ops::mean(off * off);
}
/// Through the discriminator, whose weights shall not get a gradient of it.
Tensor generator_loss(const Rivals& model, const Tensor& made) {
  return far_from(model.judged(made), 1);
}
/// Through the generator, whose weights shall not get a gradient of it.
Tensor discriminator_loss(const Rivals& model, const Tensor& made, const Tensor& images) {
  return far_from(model.judged(made), 0) + far_from(model.judged(Rivals::real(images)), 1);
}

bool is_generators(const Parameter& p) { return p.name.starts_with("generator"); }

OptimizerOptions discriminator_options() {
  OptimizerOptions options;
  options.beta1 = 0.5;
  return options;
}

/// The discriminator rests in every `rest`-th forward pass, and its loss is NaN in pass `fault`.
class Contest : public Task {
 public:
  explicit Contest(Model& model, std::uint64_t rest = 1000, std::uint64_t fault = 1000)
      : model_(dynamic_cast<Rivals&>(model)), rest_(rest), fault_(fault) {
    info_.loss_parts = {"discriminator"};
    info_.measures = {{.name = "loss", .title = "loss", .is_loss = true}};
  }
  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  [[nodiscard]] ParameterSplit split() const override {
    return {{{}, {"discriminator", 0.5, discriminator_options()}},
            [](const Parameter& p) { return is_generators(p) ? 0U : 1U; }};
  }
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace&) const override { return batch; }
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override {
    const Tensor made = model_.made(batch.images);  // of one tape
    Tensor judge = discriminator_loss(model_, made, batch.images);
    if (ctx.training && ctx.step == fault_) judge = judge * NAN;
    const Tensor total = generator_loss(model_, made);
    if (ctx.step % rest_ == rest_ - 1) return {total, {judge}, {Tensor{}}};
    return {total, {judge}, {judge}};
  }
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  [[nodiscard]] Evaluated evaluate(const std::shared_ptr<const Dataset>& dataset,
                                   const EvaluateOptions& options) const override {
    ScoreSums sums{{0}};
    const auto measure = [&](const EvaluationBatch& batch) {
      const double mean = loss(batch.there, batch.ctx).total.item();
      sums += {{mean * static_cast<double>(batch.host.size())}, batch.host.size()};
      return std::int64_t{0};
    };
    const EvaluationPass pass = evaluate_batches(model_, dataset, options, measure);
    return {sums, pass};
  }

 private:
  Rivals& model_;
  TaskInfo info_;
  std::uint64_t rest_, fault_;
};

TrainConfig config_of_contest() {
  TrainConfig config = plain_config();
  config.step.ema.keep = true;
  classification_of(config).objective.smoothing = 0;
  config.loop.log_interval = 1;
  return config;
}

/// `rest` and `fault` are Contest's.
template <class T = Contest>
Trainer contest(const TrainConfig& config, std::uint64_t rest = 1000, std::uint64_t fault = 1000) {
  auto model = std::make_unique<Rivals>();
  auto task = std::make_unique<T>(*model, rest, fault);
  return {trainer_options(config), tiny_data(), std::move(model), std::move(task)};
}

std::vector<double> gradient_of(const Model& model, const char* name) {
  return model.store().find(name).grad().to_vector();
}

constexpr const char* kWeights[] = {"generator.weight", "discriminator.weight",
                                    "discriminator.bias"};

}  // namespace

TEST_CASE("two losses of one step are two steps by hand, each of its own parameters") {
  for (const bool clips : {false, true}) {
    CAPTURE(clips);
    TrainConfig config = config_of_contest();
    if (clips) config.step.clip.limit = 0.02;  // less than either norm
    Trainer trainer = contest(config);
    const TrainerOptions options = trainer_options(config);
    Rivals by_hand;
    OptimizerOptions judges = discriminator_options();
    Optimizer makes(by_hand.store(), options.step.optimizer, is_generators);
    Optimizer judge(by_hand.store(), judges, [](const Parameter& p) { return !is_generators(p); });
    const auto loader = training_loader(options.images, trainer.data().train, {32, 32});
    for (int step = 0; step < 3; ++step) {
      const Tensor images = loader->next().images;
      by_hand.store().zero_grad();
      const Tensor fixed = by_hand.made(images).detach();
      backward(discriminator_loss(by_hand, fixed, images));
      const std::vector<double> weight = gradient_of(by_hand, "discriminator.weight");
      const std::vector<double> bias = gradient_of(by_hand, "discriminator.bias");
      const ParameterStore judging(by_hand.store(),
                                   [](const Parameter& p) { return !is_generators(p); });
      const ParameterStore making(by_hand.store(), is_generators);
      const double judge_norm = gradient_norm(judging);
      const double lr =
          learning_rate(options.schedule, step, trainer.steps_per_epoch(), PlateauState{});
      const auto scale = [&](double norm) { return clips ? clip_scale(norm, 0.02) : 1; };
      Rivals unmoved;  // the generator's loss sees the discriminator before its update
      for (const char* name : kWeights) {
        unmoved.store().find(name).detach().copy_(by_hand.store().find(name).detach());
      }
      judge.step(0.5 * lr, scale(judge_norm));
      backward(generator_loss(unmoved, unmoved.made(images)));
      by_hand.store().zero_grad();
      by_hand.store()
          .find("generator.weight")
          .set_grad(unmoved.store().find("generator.weight").grad());
      makes.step(lr, scale(gradient_norm(making)));

      trainer.train_step();
      CHECK(gradient_of(trainer.model(), "discriminator.weight") == weight);
      CHECK(gradient_of(trainer.model(), "discriminator.bias") == bias);
      CHECK(gradient_of(trainer.model(), "generator.weight") ==
            gradient_of(unmoved, "generator.weight"));
      for (const char* name : kWeights) {
        CAPTURE(std::string(name));
        CHECK(trainer.model().store().find(name).to_vector() ==
              by_hand.store().find(name).to_vector());
        CHECK(trainer.model().store().find(name).requires_grad());
      }
    }
  }
}

TEST_CASE("such a run goes on where it was stopped, with the same bits, whichever group rests") {
  const TemporaryFolder folder;
  TrainConfig config = config_of_contest();
  config.loop.grad_accum_steps = 2;
  config.step.clip.limit = 0.05;
  // A rest of a whole step takes two batches: those of step 1 are passes 2 and 3.
  for (const std::uint64_t rest : {std::uint64_t{1000}, std::uint64_t{1}, std::uint64_t{3}}) {
    CAPTURE(rest);
    Trainer whole = contest(config, rest);
    REQUIRE(whole.fit());
    TrainConfig stopped = config;
    stopped.loop.max_steps = 4;
    Trainer first = contest(stopped, rest), second = contest(config, rest);
    TrainWatch watch;
    watch.on_stop = [&](const TrainState& state) {
      run_state_file(folder / "state", state).write();
    };
    REQUIRE_FALSE(first.fit(watch));
    second.resume(folder / "state");
    REQUIRE(second.fit());
    CHECK(bits_of(second) == bits_of(whole));
    CHECK(whole.progress().updates == 6);
    const std::int64_t expected = rest == 1 ? 0 : 6;
    const auto& updates = whole.progress().group_updates;
    CHECK((updates.contains("discriminator") ? updates.at("discriminator") : 0) == expected);
  }
}

TEST_CASE("the file of a state has every group's moments by their names, and says whose they are") {
  const TemporaryFolder folder;
  TrainConfig config = config_of_contest();
  Trainer trainer = contest(config);
  trainer.train_step();
  run_state_file(folder / "state", trainer.state()).write();
  const SafetensorsFile file = read_safetensors(folder / "state");
  for (const char* name : kWeights) {
    CHECK(file.tensors.contains(std::string("m/") + name));
    CHECK(file.tensors.contains(std::string("v/") + name));
  }
  CHECK(contains(file.metadata.at("progress"), "\"group_updates\":{\"discriminator\":1}"));
  TrainState state = trainer.state();
  state.further = {{"critic", state.further.at("discriminator")}};
  CHECK(contains(message_of([&] { load_run_state(folder / "state", state); }),
                 "it has a parameter group called discriminator"));
  // One group leaves nothing of it in the file.
  Trainer plain = make_trainer(plain_config());
  plain.train_step();
  CHECK_FALSE(contains(format_run_progress(plain.progress()), "group"));
}

TEST_CASE("a loss of any group that is not finite stops the run, or the step is skipped") {
  TrainConfig config = config_of_contest();
  Trainer stops = contest(config, 1000, 2);
  CHECK(contains(message_of([&] { static_cast<void>(stops.fit()); }), "the loss is NaN"));
  config.step.guard.skip_nonfinite = true;
  Trainer skips = contest(config, 1000, 2);
  CHECK(skips.fit());
  CHECK(skips.progress().guard.skipped == 1);
  CHECK(skips.progress().updates == 11);
  CHECK(skips.progress().group_updates.at("discriminator") == 11);
  for (const char* name : kWeights) {
    for (const double value : skips.model().store().find(name).to_vector()) {
      CHECK(std::isfinite(value));
    }
  }
}

TEST_CASE("logs have the first group's loss, the others' as parts, and the norm of all gradients") {
  TrainConfig config = config_of_contest();
  config.loop.max_steps = 1;
  Trainer trainer = contest(config);
  std::vector<StepRow> rows;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { rows.push_back(row); };
  CHECK_FALSE(trainer.fit(watch));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].loss == trainer.progress().epoch.mean());
  REQUIRE(rows[0].loss_parts.size() == 1);
  CHECK(rows[0].loss_parts[0] != rows[0].loss);
  CHECK(*rows[0].grad_norm ==
        doctest::Approx(gradient_norm(trainer.model().store())).epsilon(1e-12));
}

TEST_CASE("a task whose losses do not fit its groups is refused") {
  class OneLoss : public Contest {
   public:
    using Contest::Contest;
    [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override {
      return {Contest::loss(batch, ctx).total};
    }
  };
  class NoSuchGroup : public Contest {
   public:
    using Contest::Contest;
    [[nodiscard]] ParameterSplit split() const override {
      return {{{}}, [](const Parameter&) { return 1U; }};
    }
  };
  CHECK(contains(message_of([] { contest<OneLoss>(config_of_contest()).train_step(); }),
                 "1 losses for 2 groups"));
  CHECK(
      contains(message_of([] { contest<NoSuchGroup>(config_of_contest()); }), "into group 1 of 1"));
}

}  // namespace fovea
