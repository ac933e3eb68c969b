// The evaluation of an epoch: which weights it measures, how it ends early, what it refuses.
#include "train/loop/epoch_evaluation.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_world.h"
#include "tests/support/tiny_run.h"
#include "tests/support/train_watch.h"

namespace fovea {
namespace {

constexpr double kOwn = 1, kAverage = 0;

/// The score of a pass is the first weight that it finds in the model.
class WeightReader : public Task {
 public:
  using Pass = std::function<void(EvaluationPass& pass)>;

  WeightReader(Tensor weight, Pass pass) : weight_(std::move(weight)), pass_(std::move(pass)) {
    info_.measures = {{.name = "weight", .title = "weight"}};
    info_.pictures = "Weights";
  }
  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace&) const override { return batch; }
  [[nodiscard]] TaskLoss loss(const Batch&, Context&) const override { return {}; }
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& images,
                                          const EvaluateOptions& options) const override {
    EvaluationPass pass;
    pass.samples = images->size();
    pass.seconds = 2;
    pass.complete = options.on_batch(pass.samples);
    pass_(pass);
    return {ScoreSums{{weight_.to_vector().front()}, 1}, pass};
  }
  [[nodiscard]] std::optional<Image> picture(const std::shared_ptr<const Dataset>&,
                                             const EvaluateOptions& options) const override {
    CHECK(options.processes->size() == 1);
    return Image(1, 1);
  }

 private:
  Tensor weight_;
  Pass pass_;
  TaskInfo info_;
};

/// A model whose first weight is kOwn, and kAverage in the averages.
struct EvaluatedModel {
  explicit EvaluatedModel(
      WeightReader::Pass pass = [](EvaluationPass&) {}, bool averages = true,
      Communicator& processes = single_process())
      : step({.ema = {.keep = averages}}, {}, *model,
             std::make_unique<WeightReader>(weight, std::move(pass))),
        broken_images(1, 50, processes) {
    fill(kOwn);
    EvaluateOptions options;
    options.processes = &processes;
    evaluation.emplace(HeldOutImages{tiny_data().test, options}, model->store(), step,
                       broken_images);
    at.step = 12;
    at.finished_epochs = 1;
  }
  /// The averages start as the weights at construction.
  void fill(double value) const { weight.detach().fill_(value); }
  [[nodiscard]] double own() const { return weight.to_vector().front(); }

  std::unique_ptr<Model> model =
      make_model("vit_tiny_patch4_32",
                 {{"patch_size", 8}, {"depth", 1}, {"embed_dim", 12}, {"num_heads", 2}}, 1);
  Tensor weight = [this] {
    const Tensor first = model->store().parameters().front().tensor;
    first.detach().fill_(kAverage);
    return first;
  }();
  TrainStep step;
  BrokenImages broken_images;
  std::optional<EpochEvaluation> evaluation;
  Progress at;
  EpochRow row;
};

/// Counts the passes of a run, and asks to stop in the pass of this number.
struct PassWatch : RunObserver {
  explicit PassWatch(int pass = 0) : stop_in(pass) {}
  int stop_in, passes = 0, pictures = 0;
  std::int64_t picture_epoch = -1;

  void evaluation(std::int64_t done, std::int64_t total) override {
    CHECK(done == total);
    ++passes;
  }
  void picture(std::int64_t epoch, const Image&) override {
    ++pictures;
    picture_epoch = epoch;
  }
  bool asks_to_stop() override { return passes == stop_in; }
};

}  // namespace

TEST_CASE("an epoch's evaluation is of the weights, then of their averages") {
  EvaluatedModel run;
  PassWatch watch;
  run.row.seconds = 10;
  CHECK(run.evaluation->run(run.row, run.at, watch));
  CHECK(run.row.eval == Scores{kOwn});
  CHECK(run.row.ema == Scores{kAverage});
  CHECK(run.row.seconds == 14);
  CHECK(run.own() == kOwn);
  CHECK(watch.passes == 2);
  CHECK(watch.pictures == 1);
  CHECK(watch.picture_epoch == 1);
  CHECK(run.step.times().evaluate > 0);
}

TEST_CASE("a run without averages is evaluated once") {
  EvaluatedModel run([](EvaluationPass&) {}, /*averages=*/false);
  PassWatch watch;
  CHECK(run.evaluation->run(run.row, run.at, watch));
  CHECK(run.row.eval == Scores{kOwn});
  CHECK(run.row.ema.empty());
  CHECK(watch.passes == 1);
  CHECK(watch.pictures == 1);
}

TEST_CASE("an evaluation stops when asked, and the model has its own weights again") {
  for (const int pass : {1, 2}) {
    CAPTURE(pass);
    EvaluatedModel run;
    PassWatch watch(pass);
    CHECK_FALSE(run.evaluation->run(run.row, run.at, watch));
    CHECK(watch.passes == pass);
    CHECK(watch.pictures == 0);
    CHECK(run.own() == kOwn);
  }
}

TEST_CASE("the model has its own weights again when the evaluation of the averages fails") {
  int passes = 0;
  EvaluatedModel run([&](EvaluationPass&) { check(++passes < 2, "cannot evaluate"); });
  PassWatch watch;
  CHECK(message_of([&] { (void)run.evaluation->run(run.row, run.at, watch); }) ==
        "cannot evaluate");
  CHECK(run.own() == kOwn);
}

TEST_CASE("outputs that are not finite are refused with the step and the epoch") {
  for (const int broken_pass : {1, 2}) {
    CAPTURE(broken_pass);
    int passes = 0;
    EvaluatedModel run([&](EvaluationPass& pass) {
      if (++passes == broken_pass) pass.nonfinite = 3;
    });
    PassWatch watch;
    const std::string message =
        message_of([&] { (void)run.evaluation->run(run.row, run.at, watch); });
    CHECK(contains(message, "after step 12 (epoch 2) the model's outputs for 3 of 20 images"));
    CHECK(contains(message, "this state is not saved"));
    CHECK(watch.passes == broken_pass);
    CHECK(run.own() == kOwn);
  }
}

TEST_CASE("a single evaluation is of the weights in the model, finite or not") {
  EvaluatedModel run([](EvaluationPass& pass) {
    pass.nonfinite = 3;
    pass.bad_images = {{7, "seventh: damaged"}};
  });
  run.fill(5);
  PassWatch watch;
  const EvaluationResult found = run.evaluation->evaluate(watch);
  CHECK(std::get<ScoreSums>(found.measured) == ScoreSums{{5}, 1});
  CHECK(found.pass.nonfinite == 3);
  CHECK(run.broken_images.count() == 1);
}

TEST_CASE("the first process alone draws the picture of an epoch") {
  test::in_threads(2, [](Communicator& processes) {
    EvaluatedModel run([](EvaluationPass&) {}, true, processes);
    PassWatch watch;
    CHECK(run.evaluation->run(run.row, run.at, watch));
    CHECK(watch.pictures == (processes.is_first() ? 1 : 0));
  });
}

}  // namespace fovea
