// A task with a target for each pixel, not known everywhere, is trained, evaluated and resumed like
// those that are built in.
#include <doctest/doctest.h>

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/reduce.h"
#include "tests/support/seam_checks.h"
#include "tests/train/drawn_planes.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {
namespace {

using tests::drawn_planes;
using tests::kPlaneSize;

/// Two convolutions.
class Depths : public Model {
 public:
  Depths() : Model(info_of(), 5, {}) {
    near_ = at("near").param("weight", {kWidth, 3, 3, 3}, torch_default(27));
    near_bias_ = at("near").param("bias", {kWidth}, torch_default(27));
    out_ = at("out").param("weight", {1, kWidth, 1, 1}, torch_default(kWidth));
    out_bias_ = at("out").param("bias", {1}, constant(0));
  }
  Tensor probe(const Tensor& images, Context&) override { return forward(images); }
  /// images [B, 3, H, W] -> log depth [B, 1, H, W].
  [[nodiscard]] Tensor forward(const Tensor& images) const {
    const Tensor near = ops::conv2d(images, near_, near_bias_, {.padding = {1, 1}});
    return ops::conv2d(ops::gelu(near), out_, out_bias_);
  }

 private:
  static constexpr std::int64_t kWidth = 4;
  static ModelInfo info_of() {
    ModelInfo info;
    info.name = "depths";
    info.img_size = {kPlaneSize.height, kPlaneSize.width};
    info.config = "{}";
    return info;
  }
  Tensor near_, near_bias_, out_, out_bias_;
};

/// The mean distance of the logarithms, over the pixels whose depth is known.
class DepthTask : public Task {
 public:
  explicit DepthTask(Model& model) : model_(dynamic_cast<Depths&>(model)) {
    info_.measures = {{.name = "off", .title = "distance of log depth", .is_loss = true}};
  }
  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  /// Adds the "target": log depth, and 0 in holes.
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace&) const override {
    batch.set("target", ops::log(ops::clamp(batch.at("depth"), 1, 100)));
    return batch;
  }
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context&) const override {
    return {distances(batch) / ops::clamp(ops::sum(batch.at("valid")), 1, 1e9)};
  }
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  /// Sums: the distances, and the pixels.
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override {
    ScoreSums sums{{0, 0}};
    const auto measure = [&](const EvaluationBatch& batch) {
      const Batch ready = prepare(batch.there, {});
      sums += {{distances(ready).item(), ops::sum(ready.at("valid")).item()}, batch.host.size()};
      return std::int64_t{0};
    };
    const EvaluationPass pass = evaluate_batches(model_, dataset, options, measure);
    return {sums, pass};
  }
  [[nodiscard]] Scores from_sums(const ScoreSums& sums) const override {
    return {sums.values.at(0) / std::max(sums.values.at(1), 1.0)};
  }

 private:
  [[nodiscard]] Tensor distances(const Batch& batch) const {
    const Tensor off = ops::abs(model_.forward(batch.images) - batch.at("target"));
    return ops::sum(off * batch.at("valid"));
  }

  Depths& model_;
  TaskInfo info_;
};

TrainerOptions plane_options() {
  TrainerOptions options = seam_options();
  options.schedule.lr = 0.03;
  options.images.augment.vertical_flip = 0.5;
  return options;
}

Trainer plane_trainer(TrainerOptions options) {
  options.images = images_of(options.images, options.run);
  auto model = std::make_unique<Depths>();
  auto task = std::make_unique<DepthTask>(*model);
  return {std::move(options),
          {drawn_planes(64, 1), drawn_planes(24, 2)},
          std::move(model),
          std::move(task)};
}

}  // namespace

TEST_CASE("depth is learned where it is known") {
  const RunNumbers run = whole_run(plane_options(), plane_trainer);
  CHECK(run.losses.back() < run.losses.front() / 5);
  CHECK(run.scores.back().at(0) < 0.1);
}

TEST_CASE("depth is learned with the same bits, resumed and with any threads") {
  check_same_everywhere(plane_options(), plane_trainer);
}

TEST_CASE("depth is learned from random crops, which resize images and maps alike") {
  TrainerOptions options = plane_options();
  options.images.augment.crop = TrainCrop::resized;
  options.schedule.epochs = 12;
  CHECK(whole_run(options, plane_trainer).scores.back().at(0) < 0.04);
}

TEST_CASE("pixels whose depth is not known have no part in the loss") {
  Depths model;
  const DepthTask task(model);
  Loader loader(drawn_planes(8, 1), evaluation_pipeline({}), evaluation_loader_options(8, 0));
  Batch batch = task.prepare(loader.next(), {});
  Context ctx;
  const double before = task.loss(batch, ctx).total.item();
  const Tensor holes = batch.at("valid") * -1.0 + 1.0;
  REQUIRE(ops::sum(holes).item() > 0);
  batch.set("target", batch.at("target") + holes * 50.0);
  CHECK(task.loss(batch, ctx).total.item() == before);
}

TEST_CASE("an evaluation of pixels adds up over parts of a data set") {
  Depths model;
  check_halves(DepthTask(model), drawn_planes(24, 2), plane_options().evaluation);
}

}  // namespace fovea
