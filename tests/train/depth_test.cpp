// The depth task: loss, measures, baselines, pictures, determinism.
#include "train/tasks/depth.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/sources/drawn/builtin.h"
#include "data/sources/drawn/rooms.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "tests/support/errors.h"
#include "tests/support/seam_checks.h"
#include "tests/train/drawn_planes.h"
#include "train/loop/evaluation_pass.h"
#include "train/start/resolve.h"
#include "train/tasks/depth_sample.h"

namespace fovea {
namespace {

using tests::check_error;
using tests::drawn_planes;
using tests::kPlaneSize;

std::unique_ptr<Model> tiny_depth_model(const char* loss = "l1") {
  const nlohmann::json settings{{"embed_dim", 12}, {"depth", 1}, {"num_heads", 2}, {"loss", loss}};
  return make_model("depth_vit_tiny_patch6_24x36", settings, 3);
}

TrainerOptions depth_options() {
  TrainerOptions options = seam_options();
  options.schedule.lr = 0.01;
  options.evaluation.crop.crop_pct = 1;
  options.images.augment.crop_padding = 0;
  options.images.augment.jitter.brightness = 0.05;
  options.images.augment.jitter_probability = 0.5;
  return options;
}

Trainer depth_trainer(TrainerOptions options) {
  options.images = images_of(options.images, options.run);
  std::unique_ptr<Model> model = tiny_depth_model();
  const auto train = drawn_planes(64, 1);
  auto task = std::make_unique<DepthEstimation>(*model, DepthProtocol{}, train.get());
  return {std::move(options), {train, drawn_planes(24, 2)}, std::move(model), std::move(task)};
}

double score(const DepthEstimation& task, const EvaluationResult& result, const char* name) {
  const Scores scores = task.scores(result);
  REQUIRE(scores.size() == task.info().measures.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (task.info().measures[i].name == name) return scores[i];
  }
  FAIL("no measure ", name);
  return 0;
}

Batch first_batch(const Dataset& dataset, std::int64_t count) {
  const std::shared_ptr<const Dataset> shared(&dataset, [](const Dataset*) {});
  return Loader(shared, evaluation_pipeline({}), evaluation_loader_options(count, 0)).next();
}

}  // namespace

TEST_CASE("training lowers the loss and the RMSE, which picks the best epoch") {
  TrainerOptions options = depth_options();
  options.schedule.epochs = 8;
  const RunNumbers run = whole_run(options, depth_trainer);
  CHECK(run.losses.back() < run.losses.front() / 3);
  CHECK(run.scores.back().at(1) < run.scores.front().at(1));
  const TaskInfo info = depth_info();
  CHECK(info.best_measure().name == "rmse");
  CHECK(info.is_better(0.5, 0.6));
}

TEST_CASE("depth estimation has the same bits, resumed and with any threads") {
  check_same_everywhere(depth_options(), depth_trainer);
}

TEST_CASE("depth's evaluation adds up over parts of a data set") {
  for (const char* loss : {"l1", "scale_invariant"}) {
    const auto model = tiny_depth_model(loss);
    const auto train = drawn_planes(8, 1);
    check_halves(DepthEstimation(*model, {}, train.get()), drawn_planes(24, 2),
                 depth_options().evaluation);
  }
}

TEST_CASE("where no pixel counts there is no RMSE: it is noted before, and never the best") {
  const auto model = tiny_depth_model();
  const auto train = drawn_planes(8, 1), test = drawn_planes(24, 2);
  const DepthEstimation task(*model, parse_protocol("least=100+most=200"), train.get());
  const std::vector<std::string> notes = task.evaluation_notices(*test).texts();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("no pixel of the 16 maps looked at counts") != std::string::npos);
  const EvaluationResult result = task.evaluate(test, depth_options().evaluation);
  CHECK(std::isnan(score(task, result, "rmse")));
  CHECK(std::isfinite(score(task, result, "loss")));
  CHECK(DepthEstimation(*model, parse_protocol("full"), train.get())
            .evaluation_notices(*test)
            .texts()
            .empty());
}

TEST_CASE("a look at a few maps gives the range of depths and the share that is known") {
  const auto images = drawn_planes(24, 2);
  const DepthSample sample = sample_depths(*images, parse_protocol("most=5"));
  CHECK(sample.maps == 16);
  CHECK(sample.pixels == 16 * images->image_size().height * images->image_size().width);
  CHECK(sample.known < sample.pixels);  // there are holes
  CHECK(sample.counted < sample.known);
  CHECK(sample.counted > 0);
  CHECK(sample.least >= 2);
  CHECK(sample.most <= 8);
  CHECK(range_text(sample).find(" m, ") != std::string::npos);
}

TEST_CASE("an evaluation measures the outputs and the loss of the model") {
  const auto model = tiny_depth_model();
  const auto train = drawn_planes(8, 1), test = drawn_planes(5, 2);
  const DepthEstimation task(*model, {}, train.get());
  EvaluateOptions options = depth_options().evaluation;
  options.batch_size = 2;
  const EvaluationResult result = task.evaluate(test, options);

  const Batch batch = first_batch(*test, 5);
  const NoGrad no_grad;
  Context ctx;
  const Tensor depths = model_as<DepthTransformer>(*model).forward(batch.images, ctx);
  const Tensor target = depths_of(batch, DepthSource::filled);
  CHECK(score(task, result, "loss") ==
        doctest::Approx(depth_loss(DepthLoss::l1, depths, target).item()).epsilon(1e-5));
  double squares = 0, pixels = 0;
  for (std::int64_t i = 0; i < target.numel(); ++i) {
    if (target.at(i) == 0) continue;
    squares += std::pow(std::max(depths.at(i), 1e-3) - target.at(i), 2);
    ++pixels;
  }
  CHECK(score(task, result, "rmse") == doctest::Approx(std::sqrt(squares / pixels)).epsilon(1e-5));
}

TEST_CASE("baselines come from the training images, at the size of the model") {
  const auto model = tiny_depth_model();
  const auto train = drawn_planes(20, 1);
  const DepthEstimation task(*model, {}, train.get());
  const EvaluationResult on_train = task.evaluate(train, depth_options().evaluation);
  // Of the training set itself, no constant map of pixels has a smaller RMSE than the mean.
  CHECK(score(task, on_train, "rmse_of_mean") < score(task, on_train, "rmse_of_median"));
  const DepthBaselines baselines = measure_baselines(*model, *train, depth_options().evaluation);
  CHECK(ImageSize{baselines.height, baselines.width} == kPlaneSize);
  double sum = 0, count = 0;
  for (std::int64_t i = 0; i < 20; ++i) {
    const Tensor depth = depths_of(first_batch(*drawn_planes(20, 1), 20), DepthSource::filled);
    const double metres = depth.at(i * kPlaneSize.height * kPlaneSize.width + 100);
    sum += metres;
    count += metres > 0 ? 1 : 0;
  }
  CHECK(baselines.mean[100] == doctest::Approx(sum / count).epsilon(1e-6));
}

TEST_CASE("several protocols of one pass are those of a pass each") {
  const auto model = tiny_depth_model();
  const auto train = drawn_planes(8, 1), test = drawn_planes(6, 2);
  const EvaluateOptions options = depth_options().evaluation;
  const DepthBaselines baselines = measure_baselines(*model, *train, options);
  const auto protocols = parse_protocols("full,eigen,full+median,most=5");
  auto& depth = model_as<DepthTransformer>(*model);
  const DepthResults together = evaluate_depth(depth, test, options, protocols, baselines);
  std::vector<double> rmse;
  for (std::size_t i = 0; i < protocols.size(); ++i) {
    const DepthResults alone = evaluate_depth(depth, test, options, {protocols[i]}, baselines);
    CHECK(alone.protocols[0].to_vector() == together.protocols[i].to_vector());
    rmse.push_back(alone.protocols[0].model.measures()[kRmse]);
  }
  CHECK(rmse[0] != rmse[1]);
  CHECK(rmse[0] != rmse[2]);
  CHECK(rmse[0] != rmse[3]);
}

TEST_CASE("raw depth needs a map of its own") {
  const auto model = tiny_depth_model();
  const auto train = drawn_planes(4, 1);
  const DepthEstimation task(*model, parse_protocol("raw"), train.get());
  check_error([&] { static_cast<void>(task.evaluate(train, depth_options().evaluation)); },
              "the data set has no raw depth");
  Batch batch = first_batch(*train, 2);
  batch.set("raw_depth", batch.at("depth") * 0.5);
  CHECK(depths_of(batch, DepthSource::raw).at(0) ==
        depths_of(batch, DepthSource::filled).at(0) / 2);
}

TEST_CASE("pictures without depth are an error with what is expected") {
  const auto model = tiny_depth_model();
  const Builtin pictures(Split::test);
  check_error([&] { static_cast<void>(DepthEstimation(*model, {}, &pictures)); },
              "its pictures have no depth; expected rooms");
  const auto classifier = make_model("vit_tiny_patch4_32", {{"depth", 1}});
  check_error([&] { static_cast<void>(DepthEstimation(*classifier, {}, nullptr)); },
              "expected a depth model");
}

/// Planes of which the first ones cannot be read.
class DamagedPlanes : public Dataset {
 public:
  DamagedPlanes(std::shared_ptr<const Dataset> planes, std::int64_t damaged)
      : planes_(std::move(planes)), damaged_(damaged) {}
  [[nodiscard]] std::int64_t size() const override { return planes_->size(); }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    if (index < damaged_) throw ImageError("plane " + std::to_string(index) + ": damaged");
    return planes_->get(index);
  }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return planes_->class_names();
  }

 private:
  std::shared_ptr<const Dataset> planes_;
  std::int64_t damaged_;
};

TEST_CASE("a first picture that is broken keeps nobody from evaluating the others") {
  const auto model = tiny_depth_model();
  const auto planes = drawn_planes(12, 1);
  const auto damaged = std::make_shared<DamagedPlanes>(planes, 2);
  const DepthEstimation task(*model, {}, damaged.get());
  task.require_evaluable(*damaged);
  EvaluateOptions options = depth_options().evaluation;
  options.bad_image_limit = 1;
  CHECK(task.evaluate(damaged, options).pass.samples == 10);
  const auto whole = task.picture(planes, options), rest = task.picture(damaged, options);
  REQUIRE(rest);
  CHECK(rest->width < whole->width);
  const DamagedPlanes none(planes, 12);
  check_error([&] { require_depths(none); }, "plane 11: damaged");
}

TEST_CASE("a picture shows eight images above their depths and the predictions") {
  const auto model = tiny_depth_model();
  const auto train = drawn_planes(10, 1);
  const DepthEstimation task(*model, {}, train.get());
  const auto picture = task.picture(train, depth_options().evaluation);
  REQUIRE(picture);
  CHECK(picture->width >= 8 * 2 * kPlaneSize.width);  // enlarged
  CHECK(picture->height >= 3 * 2 * kPlaneSize.height);
}

TEST_CASE("the default run trains on rooms, and its settings are checked") {
  const RunDefaults defaults{.task = TaskKind::depth, .dataset = "rooms"};
  const TrainConfig config = resolve_run({}, defaults).config;
  CHECK(config.data.name == "rooms");
  CHECK(config.model.name == "depth_cpvt_tiny_peg0_patch4_24x32");
  CHECK(config.evaluation.crop.crop_pct == 1);
  const auto with_protocol = [&](const char* text) {
    static_cast<void>(resolve_run({{"protocol", text}}, defaults));
  };
  check_error([&] { with_protocol("egen"); }, "--protocol: got egen");
  CHECK_NOTHROW(with_protocol("eigen+median"));
}

TEST_CASE("a new run on own pairs has no upper limit of depth unless it sets one") {
  const auto protocol = [](const std::vector<Setting>& given) {
    TrainConfig config = resolve_run(given, {TaskKind::depth, "rooms", "rooms"}).config;
    return field_text(find_field(fields_of(config), "protocol", ""));
  };
  CHECK(protocol({}) == "full");
  CHECK(protocol({{"dataset", "depth_pairs"}}) == "full+most=none");
  CHECK(protocol({{"dataset", "depth_pairs"}, {"protocol", "eigen+median"}}) ==
        "eigen+median+most=none");
  CHECK(protocol({{"dataset", "depth_pairs"}, {"protocol", "full+most=80"}}) == "full+most=80");
}

}  // namespace fovea
