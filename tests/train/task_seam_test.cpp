// What is trained is behind one seam: a task that has no labels, no classes and no accuracy passes
// through step, trainer, log, curves and resume like those that are built in.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/loop/evaluation_pass.h"
#include "train/run/log_charts.h"
#include "train/run/recorder.h"

namespace fovea {
namespace {

/// Says how bright an image is, in red, green and blue: targets are made from the image.
class Brightness : public Task {
 public:
  explicit Brightness(Model& model) : model_(model_as<Classifier>(model)) {
    info_.loss_parts = {"red", "green", "blue"};
    info_.measures = {{.name = "error", .title = "error of the brightness", .chart = "Brightness"},
                      {.name = "red", .title = "red", .chart = "Brightness"}};
    info_.pictures = "First pixels";
    info_.next_steps = {{"a look", "look at RUN"}};
  }

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace&) const override {
    batch.set("brightness", ops::mean(batch.images, {2, 3}));
    batch.labels = {};
    return batch;
  }
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override {
    CHECK_FALSE(batch.labels.defined());
    const Tensor off = model_.forward(batch.images, ctx).logits - batch.at("brightness");
    const Tensor squares = ops::mean(off * off, {0});
    TaskLoss loss{ops::mean(squares)};
    for (std::int64_t c = 0; c < 3; ++c) loss.parts.push_back(ops::select(squares, 0, c));
    return loss;
  }
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override {
    ScoreSums sums{{0, 0}};
    const auto measure = [&](const EvaluationBatch& batch) {
      const TaskLoss found = loss(prepare(batch.there, {}), batch.ctx);
      const std::int64_t images = batch.host.size();
      sums += {{found.total.item() * static_cast<double>(images),
                found.parts[0].item() * static_cast<double>(images)},
               images};
      return std::int64_t{0};
    };
    const EvaluationPass pass = evaluate_batches(model_, dataset, options, measure);
    return {sums, pass};
  }
  [[nodiscard]] std::optional<Image> picture(const std::shared_ptr<const Dataset>& dataset,
                                             const EvaluateOptions&) const override {
    Image first(1, 1);
    std::copy_n(dataset->get(0).image.at(0, 0), 3, first.at(0, 0));
    return first;
  }

 private:
  Classifier& model_;
  TaskInfo info_;
};

TrainConfig config_of_run() {
  TrainConfig config = plain_config();
  classification_of(config).objective.smoothing = 0;
  config.schedule.epochs = 3;
  return config;
}

/// Of Brightness, or of a task that derives from it.
template <class T = Brightness>
Trainer brightness_trainer(const TrainConfig& config) {
  auto model = make_model(
      config.model.name,
      {{"patch_size", 8}, {"depth", 1}, {"embed_dim", 12}, {"num_heads", 2}, {"num_classes", 3}},
      1);
  auto task = std::make_unique<T>(*model);
  return {trainer_options(config), tiny_data(), std::move(model), std::move(task)};
}

}  // namespace

TEST_CASE("a task without labels or classes is trained, logged and drawn") {
  const TemporaryFolder folder;
  Trainer trainer = brightness_trainer(config_of_run());
  RunRecorder recorder(folder.path(), trainer.task(), {}, trainer.progress());
  std::vector<EpochRow> rows;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { recorder.step(row); };
  watch.on_epoch = [&](const EpochRow& row, const TrainState& state) {
    rows.push_back(row);
    recorder.epoch(row, state);
  };
  watch.on_picture = [&](std::int64_t epoch, const Image& image) {
    recorder.picture(epoch, image);
  };
  REQUIRE(trainer.fit(watch));
  CHECK(rows.back().train_loss < rows.front().train_loss);
  CHECK(contains(read_file(folder / "log.csv"),
                 "epoch,train_loss,train_red,train_green,train_blue,eval_error,eval_red,lr,"));
  CHECK(contains(read_file(folder / "steps.jsonl"), "\"loss_blue\""));
  CHECK(std::filesystem::exists(folder / "pictures/epoch-0003.png"));

  const auto least = std::min_element(
      rows.begin(), rows.end(),
      [](const EpochRow& a, const EpochRow& b) { return a.eval.front() < b.eval.front(); });
  CHECK(trainer.progress().best.epoch == least->epoch);
  CHECK(trainer.progress().best.score == least->eval.front());

  const std::vector<Chart> charts = log_charts(trainer.task(), rows);
  REQUIRE(charts.size() == 2);
  CHECK(charts[0].series.size() == 3);  // the whole and its parts
  CHECK(charts[1].title == "Brightness");
  CHECK(charts[1].y_label == "error of the brightness");
  CHECK(charts[1].series.size() == 3);
}

TEST_CASE("a batch is prepared for the place at which the step meets it, by any worker") {
  /// Compares the place that a batch was prepared for with that of the forward pass it comes in.
  class Placed : public Brightness {
   public:
    using Brightness::Brightness;
    [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override {
      batch = Brightness::prepare(std::move(batch), place);
      const auto as_tensor = [&](std::int64_t value) {
        return full({batch.size()}, static_cast<double>(value), {DType::i64, {}});
      };
      batch.set("step", as_tensor(place.step));
      batch.set("forward", as_tensor(place.forward));
      batch.set("epoch", as_tensor(place.epoch));
      return batch;
    }
    [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override {
      if (ctx.training) {
        const std::int64_t in_epoch = static_cast<std::int64_t>(ctx.step) % 6;  // steps of 4 and 2
        CHECK(batch.at("forward").at(0) == static_cast<double>(ctx.step));
        CHECK(batch.at("epoch").at(0) == static_cast<double>(ctx.step / 6));
        CHECK(batch.at("step").at(0) ==
              static_cast<double>(2 * (ctx.step / 6)) + (in_epoch < 4 ? 0 : 1));
      }
      return Brightness::loss(batch, ctx);
    }
  };
  const TemporaryFolder folder;
  for (const int workers : {0, 3}) {
    CAPTURE(workers);
    TrainConfig config = config_of_run();
    config.run.workers = workers;
    config.loop.grad_accum_steps = 4;
    const auto trainer = [&](std::int64_t max_steps) {
      config.loop.max_steps = max_steps;
      return brightness_trainer<Placed>(config);
    };
    Trainer first = trainer(3), second = trainer(0);  // 3: in the second epoch
    REQUIRE_FALSE(first.fit());
    run_state_file(folder / "state", first.state()).write();
    second.resume(folder / "state");
    CHECK(second.fit());
  }
}

TEST_CASE("the picture of an epoch is made with the averaged weights where there are some") {
  TrainConfig config = config_of_run();
  for (const bool averaged : {true, false}) {
    config.step.ema.keep = averaged;
    Trainer trainer = brightness_trainer(config);
    const Tensor weight = trainer.model().store().find("head.weight");
    int pictures = 0;
    TrainWatch watch;
    std::vector<double> shown;
    watch.on_picture = [&](std::int64_t, const Image&) {
      ++pictures;
      shown = weight.to_vector();
    };
    watch.on_epoch = [&](const EpochRow&, const TrainState& state) {
      const bool is_own = shown == weight.to_vector();
      CHECK(is_own != averaged);
      if (averaged) CHECK(shown == state.averages.at("head.weight").to_vector());
    };
    REQUIRE(trainer.fit(watch));
    CHECK(pictures == 3);
  }
}

TEST_CASE("such a task goes on where it was stopped, with the same bits") {
  const TemporaryFolder folder;
  const TrainConfig config = config_of_run();
  TrainConfig stopped = config;
  stopped.loop.max_steps = 8;  // in the second epoch
  Trainer whole = brightness_trainer(config), first = brightness_trainer(stopped);
  REQUIRE(whole.fit());
  TrainWatch watch;
  watch.on_stop = [&](const TrainState& state) { run_state_file(folder / "state", state).write(); };
  REQUIRE_FALSE(first.fit(watch));
  Trainer second = brightness_trainer(config);
  second.resume(folder / "state");
  REQUIRE(second.fit());
  CHECK(bits_of(second) == bits_of(whole));
}

}  // namespace fovea
