// A task with boxes on images of several sizes in a batch is trained, evaluated and resumed like
// those that are built in.
#include <doctest/doctest.h>

#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/drawn_boxes.h"
#include "tests/support/seam_checks.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {
namespace {

using tests::DrawnBoxes;
using tests::DrawnBoxesOptions;

constexpr std::int64_t kObjects = 3;  // the most of a drawn image

/// Looks for one object of each colour: where the pixels of that colour lie, and how far apart.
class Finder : public Model {
 public:
  Finder() : Model(info_of(), 3, {}) {
    colors_ = at("colors").param("weight", {kObjects, 3, 1, 1}, trunc_normal(0.1));
    side_ = at("side").param("weight", {1}, constant(1));
  }

  Tensor probe(const Tensor& images, Context&) override {
    return forward(images, ones({images.size(0), images.size(2), images.size(3)}));
  }
  /// images [B, 3, H, W], mask [B, H, W] -> centre x, centre y, width, height [B, 3, 4] in pixels.
  [[nodiscard]] Tensor forward(const Tensor& images, const Tensor& mask) const {
    const Tensor weights =
        ops::exp(ops::conv2d(images, colors_, {})) * ops::unsqueeze(mask, 1);  // [B, 3, H, W]
    const Tensor shares = weights / ops::sum(weights, {2, 3}, true);
    const std::int64_t height = images.size(2), width = images.size(3);
    const auto [x, w] = along(shares, middles(width));
    const auto [y, h] = along(shares, ops::reshape(middles(height), {height, 1}));
    return ops::stack({x, y, w, h}, 2);
  }

 private:
  static ModelInfo info_of() {
    ModelInfo info;
    info.name = "finder";
    info.img_size = {32, 32};  // smaller than all images
    info.config = "{}";
    return info;
  }
  [[nodiscard]] static Tensor middles(std::int64_t count) {
    return arange(count, {DType::f32, {}}) + 0.5;
  }
  /// Mean and extent along an axis, [B, 3] each.
  [[nodiscard]] std::pair<Tensor, Tensor> along(const Tensor& shares, const Tensor& at) const {
    const Tensor mean = ops::sum(shares * at, {2, 3}, true);
    const Tensor off = at - mean;
    const Tensor extent = ops::sqrt(ops::sum(shares * off * off, {2, 3}) + 0.01) * side_;
    return {ops::reshape(mean, extent.shape()), extent};
  }

  Tensor colors_, side_;
};

/// The mean distance of a box's four numbers, over the boxes that are there.
class Finding : public Task {
 public:
  explicit Finding(Model& model) : model_(dynamic_cast<Finder&>(model)) {
    info_.loss_parts = {"centre", "size"};
    info_.measures = {{.name = "off", .title = "distance", .chart = "Boxes"},
                      {.name = "off_size", .title = "of the size", .chart = "Boxes"}};
  }

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  /// Adds the numbers that are predicted, "targets" [B, M, 4], and "counts" f32 [B, M, 1], 1 where
  /// there is a box.
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace&) const override {
    const Tensor boxes = batch.at("boxes");
    const std::int64_t most = boxes.size(1);
    const Tensor low = ops::slice(boxes, 2, 0, 2), high = ops::slice(boxes, 2, 2, 4);
    batch.set("targets", ops::cat({(low + high) * 0.5, high - low}, 2));
    Tensor counts = zeros({batch.size(), most, 1});
    for (std::int64_t b = 0; b < batch.size(); ++b)
      std::fill_n(counts.data<float>() + b * most, batch.at("box_count").data<std::int64_t>()[b],
                  1.0F);
    batch.set("counts", counts);
    return batch;
  }
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context&) const override {
    const Tensor sums = distances(batch);
    const Tensor boxes = ops::clamp(ops::sum(batch.at("counts")), 1, 1e9);
    const Tensor centre = ops::select(sums, 0, 0) / boxes, size = ops::select(sums, 0, 1) / boxes;
    return {centre + size, {centre, size}};
  }
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  /// Sums: the distances of both parts, and the boxes.
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override {
    ScoreSums sums{{0, 0, 0}};
    const auto measure = [&](const EvaluationBatch& batch) {
      const Batch ready = prepare(batch.there, {});
      const Tensor off = distances(ready);
      sums += {{off.at(0) + off.at(1), off.at(1), ops::sum(ready.at("counts")).item()},
               batch.host.size()};
      return std::int64_t{0};
    };
    const EvaluationPass pass = evaluate_batches(model_, dataset, options, measure);
    return {sums, pass};
  }
  [[nodiscard]] Scores from_sums(const ScoreSums& sums) const override {
    const double boxes = std::max(sums.values.at(2), 1.0);
    return {sums.values.at(0) / boxes, sums.values.at(1) / boxes};
  }

 private:
  /// [2]: of centres and of sizes, summed over boxes.
  [[nodiscard]] Tensor distances(const Batch& batch) const {
    const Tensor found = ops::slice(model_.forward(batch.images, batch.at("mask")), 1, 0,
                                    batch.at("targets").size(1));
    const Tensor off = ops::abs(found - batch.at("targets")) * batch.at("counts");
    return ops::sum(ops::reshape(off, {-1, 2, 2}), {0, 2});
  }

  Finder& model_;
  TaskInfo info_;
};

TrainerOptions finding_options() {
  TrainerOptions options = seam_options();
  options.schedule.lr = 0.3;
  options.sizes.keep = true;
  options.images.augment.crop_padding = 2;
  options.images.augment.vertical_flip = 0.5;
  options.images.loader.rows.pad_multiple = 8;
  options.evaluation.keep_size = true;
  options.evaluation.pad_multiple = 8;
  return options;
}

std::shared_ptr<const Dataset> drawn_boxes(std::int64_t size, std::uint64_t seed) {
  return std::make_shared<DrawnBoxes>(DrawnBoxesOptions{.size = size, .seed = seed});
}

/// Of Finding, or of a task that derives from it.
template <class T = Finding>
Trainer finding_trainer(TrainerOptions options) {
  options.images = images_of(options.images, options.run);
  auto model = std::make_unique<Finder>();
  auto task = std::make_unique<T>(*model);
  return {std::move(options),
          {drawn_boxes(64, 1), drawn_boxes(24, 2)},
          std::move(model),
          std::move(task)};
}

}  // namespace

TEST_CASE("boxes on images of several sizes are learned") {
  const RunNumbers run = whole_run(finding_options(), finding_trainer<>);
  CHECK(run.losses.back() < run.losses.front() / 5);
  const double off = run.scores.back().at(0), off_size = run.scores.back().at(1);
  CHECK(off < 4);               // pixels: discs and rectangles differ in their pixels' spread
  CHECK(off - off_size < 0.2);  // of the centres
}

TEST_CASE("boxes are learned with the same bits, resumed and with any threads") {
  check_same_everywhere(finding_options(), finding_trainer<>);
}

TEST_CASE("training and evaluation hand on images of their own sizes, padded, with a mask") {
  /// Looks at the batches that it is given.
  class Looking : public Finding {
   public:
    using Finding::Finding;
    [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override {
      const Tensor mask = batch.at("mask");
      CHECK(batch.images.size(2) % 8 == 0);
      CHECK(batch.images.size(3) % 8 == 0);
      CHECK(batch.images.size(2) >= 40);
      CHECK(mask.shape() == Shape{batch.size(), batch.images.size(2), batch.images.size(3)});
      CHECK(ops::sum(mask).item() < static_cast<double>(mask.numel()));  // some are smaller
      return Finding::prepare(std::move(batch), place);
    }
  };
  for (const bool overfit : {false, true}) {
    TrainerOptions options = finding_options();
    options.schedule.epochs = 1;
    options.overfit_batch = overfit;
    Trainer trainer = finding_trainer<Looking>(options);
    CHECK(trainer.fit());
  }
}

TEST_CASE("what is padded changes nothing that is found") {
  const Finder model;
  LoaderOptions alone = evaluation_loader_options(1, 0), together = alone;
  alone.rows.pad_multiple = together.rows.pad_multiple = 8;
  together.batch_size = 6;
  Loader one(drawn_boxes(6, 1), evaluation_pipeline({}), alone);
  Loader all(drawn_boxes(6, 1), evaluation_pipeline({}), together);
  const Batch batch = all.next();
  const Tensor found = model.forward(batch.images, batch.at("mask"));
  for (std::int64_t b = 0; b < 6; ++b) {
    const Batch single = one.next();
    const std::vector<double> expected =
        model.forward(single.images, single.at("mask")).to_vector();
    const std::vector<double> row = ops::select(found, 0, b).to_vector();
    REQUIRE(row.size() == expected.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      CHECK(row[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  }
}

TEST_CASE("boxes that do not count have no part in loss and gradient") {
  Finder model;
  const Finding task(model);
  LoaderOptions load = evaluation_loader_options(8, 0);
  load.rows.pad_multiple = 8;
  Loader loader(drawn_boxes(8, 1), evaluation_pipeline({}), load);
  Batch batch = task.prepare(loader.next(), {});
  Context ctx;
  const double before = task.loss(batch, ctx).total.item();
  const Tensor absent = (batch.at("counts") * -1.0 + 1.0) * 50.0;
  batch.set("targets", batch.at("targets") + absent);
  CHECK(task.loss(batch, ctx).total.item() == before);
}

TEST_CASE("an evaluation of boxes adds up over parts of a data set") {
  Finder model;
  check_halves(Finding(model), drawn_boxes(24, 2), finding_options().evaluation);
}

}  // namespace fovea
