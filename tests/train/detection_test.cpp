// The detection task: objects relative to their images, detections, COCO's numbers, whole runs.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "data/sources/drawn/scenes.h"
#include "data/sources/image_subset.h"
#include "models/detection/coco_results.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/support/coco_results_reader.h"
#include "tests/support/seam_checks.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/detection.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea {
namespace {

/// Small scenes of three sizes.
std::shared_ptr<const Scenes> scenes(Split split) {
  return std::make_shared<Scenes>(
      split, SceneOptions{.seed = 5, .side = 32, .train_size = 64, .test_size = 12});
}

/// A detector that takes milliseconds per image.
std::unique_ptr<Model> tiny_detector(const std::string& name = "deformable_detr_tiny_scenes") {
  return make_model(name,
                    {{"num_classes", 6},
                     {"num_queries", 8},
                     {"d_model", 32},
                     {"nheads", 2},
                     {"enc_layers", 1},
                     {"dec_layers", 2},
                     {"dim_feedforward", 16},
                     {"stem", 4},
                     {"planes", {4, 8}}},
                    3);
}

TrainerOptions detection_options() {
  TrainerOptions options = seam_options();
  options.images.augment.crop = TrainCrop::keep;
  options.images.loader.rows.pad_multiple = 1;
  options.evaluation.crop.mode = CropMode::keep;
  options.evaluation.pad_multiple = 1;
  options.step.clip.limit = 0.1;
  return options;
}

Trainer detection_trainer(TrainerOptions options) {
  options.images = images_of(options.images, options.run);
  auto model = tiny_detector();
  auto task = std::make_unique<Detection>(DetectionOptions{}, *model);
  return {std::move(options),
          {scenes(Split::train), scenes(Split::test)},
          std::move(model),
          std::move(task)};
}

/// Boxes on padded images of 4 x 6 pixels; the second image is 2 x 3.
Batch padded_batch() {
  Batch batch;
  batch.images = zeros({2, 3, 4, 6});
  batch.labels = full({2}, 0, {DType::i64, {}});
  batch.indices = full({2}, 0, {DType::i64, {}});
  batch.set("mask", from_values({2, 4, 6}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1,
                                            1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  batch.set("boxes", from_values({2, 2, 4}, {0, 0, 3, 4, 3, 2, 6, 4, 0, 0, 3, 1, 0, 0, 0, 0}));
  batch.set("box_labels", from_values({2, 2}, {4, 2, 1, -1}, {DType::i64, {}}));
  batch.set("box_count", from_values({2}, {2, 1}, {DType::i64, {}}));
  return batch;
}

/// Two queries and, for softmax, two classes and "no object".
DetectorOutput two_queries(const std::vector<double>& logits) {
  const auto classes = static_cast<std::int64_t>(logits.size() / 2);
  return {from_values({1, 1, 2, classes}, logits),
          from_values({1, 1, 2, 4}, {0.5, 0.5, 1, 1, 0.25, 0.5, 0.5, 0.2})};
}

std::vector<FoundObject> found_by(const DetectorOutput& output, ClassLoss loss,
                                  std::int64_t most = kMaxDetections) {
  const Tensor index = full({1}, 7, {DType::i64, {}});
  return detections_of(
             output, loss, index,
             [](std::int64_t) {
               return ImageSize{10, 20};
             },
             most)
      .front();
}

/// What a detector without a fault finds.
FoundObjects objects_themselves(const DetectionSet& images) {
  FoundObjects found;
  for (std::int64_t i = 0; i < images.size(); ++i) {
    for (const Annotation& a : images.annotations(i))
      found.objects.push_back({{i, a.label, a.x, a.y, a.width, a.height, 0.9}, 0});
  }
  return found;
}

/// A set of which every object is a crowd.
class CrowdsOnly : public ImageSubset<DetectionSet> {
 public:
  explicit CrowdsOnly(std::shared_ptr<const DetectionSet> whole)
      : ImageSubset(whole, {0, 1, 2}, "") {}
  [[nodiscard]] const std::vector<std::int64_t>& category_ids() const override {
    return whole().category_ids();
  }
  [[nodiscard]] std::vector<Annotation> annotations(std::int64_t index) const override {
    std::vector<Annotation> all = whole().annotations(index);
    for (Annotation& object : all) object.crowd = true;
    return all;
  }
  [[nodiscard]] std::int64_t image_id(std::int64_t index) const override { return index; }
  [[nodiscard]] ImageSize stored_size(std::int64_t index) const override {
    return whole().stored_size(index);
  }
};

}  // namespace

TEST_CASE("objects are relative to their image, without its padding") {
  const Batch batch = with_relative_boxes(padded_batch());
  const std::vector<Objects> objects = objects_of(batch);
  REQUIRE(objects.size() == 2);
  CHECK(objects[0].labels == std::vector<std::int64_t>{4, 2});
  CHECK(objects[0].boxes == std::vector<double>{0.25, 0.5, 0.5, 1, 0.75, 0.75, 0.5, 0.5});
  CHECK(objects[1].labels == std::vector<std::int64_t>{1});
  CHECK(objects[1].boxes == std::vector<double>{0.5, 0.25, 1, 0.5});
  CHECK(batch.find("mask").defined());
  for (const BatchMember& member : batch.others) CHECK(member.uploads == (member.name == "mask"));
}

TEST_CASE("a mask that hides nothing is removed") {
  Batch batch = padded_batch();
  batch.set("mask", ones({2, 4, 6}));
  CHECK(!with_relative_boxes(batch).find("mask").defined());
}

TEST_CASE("with softmax a query gives its most likely class, which is not 'no object'") {
  const auto found =
      found_by(two_queries({0, std::log(3), std::log(4), std::log(2), 0, 0}), ClassLoss::softmax);
  REQUIRE(found.size() == 2);
  CHECK(found[0].query == 1);
  CHECK(found[0].where.category == 0);
  CHECK(found[0].where.score == doctest::Approx(0.5));
  CHECK(found[1].where.category == 1);
  CHECK(found[1].where.score == doctest::Approx(3.0 / 8));
  CHECK(found[0].where.image == 7);
  CHECK(found[0].where.x == doctest::Approx(0));
  CHECK(found[0].where.y == doctest::Approx(4));
  CHECK(found[0].where.width == doctest::Approx(10));
  CHECK(found[0].where.height == doctest::Approx(2));
}

TEST_CASE("with the focal loss the best pairs of query and class count, the lower query first") {
  const auto found = found_by(two_queries({0, std::log(3), std::log(3), -1}), ClassLoss::focal, 3);
  REQUIRE(found.size() == 3);
  CHECK(found[0].query == 0);
  CHECK(found[0].where.category == 1);
  CHECK(found[0].where.score == doctest::Approx(0.75));
  CHECK(found[1].query == 1);
  CHECK(found[1].where.category == 0);
  CHECK(found[2].query == 0);
  CHECK(found[2].where.score == doctest::Approx(0.5));
}

TEST_CASE("the objects themselves have an average precision of 1") {
  const auto images = scenes(Split::test);
  FoundObjects found = objects_themselves(*images);
  CHECK(precision_of(found, images).numbers[0] == doctest::Approx(1));
  found.objects.resize(found.objects.size() / 2);
  CHECK(precision_of(found, images).numbers[0] < 0.9);
}

TEST_CASE("objects of images that cannot be read are not missed: AP is that of the others") {
  const auto images = scenes(Split::test);
  FoundObjects found = objects_themselves(*images);
  std::erase_if(found.objects, [](const FoundObject& o) { return o.where.image % 3 == 0; });
  for (std::int64_t i = 0; i < images->size(); i += 3) found.pass.bad_images.push_back({i, "cut"});
  const AveragePrecision precision = precision_of(found, images);
  CHECK(precision.numbers[0] == doctest::Approx(1));
  std::int64_t counted = 0, readable = 0;
  for (const CategoryPrecision& category : precision.categories) counted += category.objects;
  for (std::int64_t i = 0; i < images->size(); ++i)
    readable += i % 3 == 0 ? 0 : std::ssize(images->annotations(i));
  CHECK(counted == readable);
}

TEST_CASE("without objects AP is no number: a dash in the console, never the best epoch") {
  const auto crowds = std::make_shared<CrowdsOnly>(scenes(Split::test));
  auto model = tiny_detector();
  const Detection task({}, *model);
  const Scores scores =
      std::get<Scores>(task.evaluate(crowds, detection_options().evaluation).measured);
  CHECK(std::isfinite(scores.at(0)));
  CHECK(std::isnan(scores.at(1)));
  CHECK(task.info().best_measure().text(scores.at(1)) == "-");
}

TEST_CASE("the held-out loss is that of all images at once, whatever the batches are") {
  const auto whole = scenes(Split::test);
  std::vector<std::int64_t> equal;
  for (std::int64_t i = 0; i < whole->size(); ++i)
    if (whole->stored_size(i) == whole->stored_size(0)) equal.push_back(i);
  REQUIRE(equal.size() >= 3);
  const auto images = images_of(whole, equal, "");
  for (const char* const name : {"detr_tiny_scenes", "deformable_detr_tiny_scenes"}) {
    CAPTURE(name);
    auto model = tiny_detector(name);
    const Detection task({}, *model);
    EvaluateOptions options = detection_options().evaluation;
    std::vector<double> losses;
    for (const std::int64_t batch : {1, 2, 3, 64}) {
      options.batch_size = batch;
      losses.push_back(std::get<Scores>(task.evaluate(images, options).measured).front());
      CHECK(losses.back() == doctest::Approx(losses.front()).epsilon(1e-5));
    }
    LoaderOptions load = evaluation_loader_options(64, 0);
    load.rows.pad_multiple = 1;
    const NoGrad no_grad;
    Context ctx;
    Loader loader(images, evaluation_pipeline({}), load);
    const TaskLoss at_once = task.loss(task.prepare(loader.next(), {}), ctx);
    CHECK(losses.back() == doctest::Approx(at_once.total.item()).epsilon(1e-5));
  }
}

TEST_CASE("results that are written and read back have the same average precision") {
  const auto images = scenes(Split::test);
  auto model = tiny_detector();
  EvaluateOptions options = detection_options().evaluation;
  const auto size_of = [&](std::int64_t index) { return images->stored_size(index); };
  FoundObjects found = find_objects(model_as<Detector>(*model), images, options, size_of);
  std::vector<ScoredBox> boxes;
  for (const FoundObject& object : found.objects) {
    boxes.push_back(object.where);
    boxes.back().image = images->image_id(object.where.image);
  }
  const std::vector<ScoredBox> read = parse_coco_results(format_coco_results(boxes));
  REQUIRE(read.size() == found.objects.size());
  const AveragePrecision before = precision_of(found, images);
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::int64_t image = found.objects[i].where.image;
    found.objects[i].where = read[i];
    found.objects[i].where.image = image;
  }
  CHECK(precision_of(found, images).numbers == before.numbers);
}

TEST_CASE("an evaluation gives COCO's numbers themselves, and the loss") {
  const auto images = scenes(Split::test);
  auto model = tiny_detector();
  const Detection task({}, *model);
  const EvaluateOptions options = detection_options().evaluation;
  const Scores scores = std::get<Scores>(task.evaluate(images, options).measured);
  const auto size_of = [&](std::int64_t index) { return images->stored_size(index); };
  const FoundObjects found = find_objects(model_as<Detector>(*model), images, options, size_of);
  const auto numbers = precision_of(found, images).numbers;
  CHECK(scores.front() == found.loss);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(i);
    if (numbers[i] < 0) CHECK(std::isnan(scores.at(i + 1)));
    if (numbers[i] >= 0) CHECK(scores.at(i + 1) == numbers[i]);
  }
}

/// Scenes of which some cannot be read.
class DamagedScenes : public Scenes {
 public:
  explicit DamagedScenes(std::set<std::int64_t> damaged)
      : Scenes(Split::test, {.seed = 5, .side = 32, .train_size = 64, .test_size = 12}),
        damaged_(std::move(damaged)) {}
  [[nodiscard]] Sample get(std::int64_t index) const override {
    if (damaged_.contains(index)) throw ImageError("scene " + std::to_string(index) + ": damaged");
    return Scenes::get(index);
  }
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox&, ImageSize) const override {
    return get(index);
  }

 private:
  std::set<std::int64_t> damaged_;
};

TEST_CASE("the picture after an epoch shows the scenes that can be read") {
  auto model = tiny_detector();
  const Detection task({}, *model);
  EvaluateOptions options = detection_options().evaluation;
  options.bad_image_limit = 1;
  const auto width_without = [&](const std::set<std::int64_t>& damaged) {
    const auto picture = task.picture(std::make_shared<DamagedScenes>(damaged), options);
    return picture ? picture->width : 0;
  };
  const std::int64_t all = width_without({});
  CHECK(width_without({0}) < all);
  CHECK(width_without({0}) > all / 2);
  CHECK(width_without({8}) == all);  // is not shown
  CHECK(width_without({0, 1, 2, 3, 4, 5, 6, 7}) == 0);
}

TEST_CASE("what is found on an image does not depend on the others in its batch") {
  const auto images = scenes(Split::test);
  auto model = tiny_detector("detr_tiny_scenes");
  const auto size_of = [&](std::int64_t index) { return images->stored_size(index); };
  EvaluateOptions options = detection_options().evaluation;
  const auto together = find_objects(model_as<Detector>(*model), images, options, size_of);
  options.batch_size = 1;
  const auto alone = find_objects(model_as<Detector>(*model), images, options, size_of);
  REQUIRE(together.objects.size() == alone.objects.size());
  const std::int64_t queries = 8;
  // without padding the map of a larger neighbour has no border inside; so only equal sizes agree
  for (std::int64_t i = 0; i < images->size(); ++i) {
    if (images->stored_size(i) != ImageSize{32, 40}) continue;
    for (std::int64_t k = i * queries; k < (i + 1) * queries; ++k) {
      const ScoredBox &a = together.objects[static_cast<std::size_t>(k)].where,
                      &b = alone.objects[static_cast<std::size_t>(k)].where;
      CHECK(a.score == doctest::Approx(b.score).epsilon(1e-4));
    }
  }
}

TEST_CASE("a detector learns drawn scenes: its loss falls") {
  TrainerOptions options = detection_options();
  options.schedule.epochs = 3;
  const RunNumbers run = whole_run(options, detection_trainer);
  CHECK(run.losses.back() < 0.9 * run.losses.front());
  CHECK(run.scores.back().size() == 13);
}

TEST_CASE("scenes are learned with the same bits, resumed and with any threads") {
  check_same_everywhere(detection_options(), detection_trainer);
}

TEST_CASE("outputs that are not finite give a loss that is not, instead of an error") {
  const NoGrad no_grad;
  auto model = tiny_detector();
  for (const Parameter& p : model->store().parameters()) {
    if (p.name == "class_embed.0.bias") p.tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  }
  const Detection task({}, *model);
  Context ctx;
  LoaderOptions load = evaluation_loader_options(2, 0);
  load.rows.pad_multiple = 1;
  Loader loader(scenes(Split::train), evaluation_pipeline({}), load);
  const TaskLoss loss = task.loss(task.prepare(loader.next(), {}), ctx);
  CHECK(!std::isfinite(loss.total.item()));
  CHECK(loss.parts.size() == task.info().loss_parts.size());
}

TEST_CASE("columns of the log have no blanks, and the former ones are known") {
  const TaskInfo info = detection_info();
  const Measure& small = info.measures.at(4);
  CHECK(small.title == "AP small");
  CHECK(small.name == "ap_small");
  CHECK(small.former_name == "ap small");
  CHECK(info.measures.at(7).name == "ar_1");
  for (const Measure& measure : info.measures) CHECK(measure.name.find(' ') == std::string::npos);
}

TEST_CASE("the best epoch has the highest AP; a console's line names three of the numbers") {
  const TaskInfo info = detection_info();
  CHECK(info.best_measure().name == "ap");
  CHECK(info.best_measure().more_is_better);
  const auto shown = std::count_if(info.measures.begin(), info.measures.end(),
                                   [](const Measure& m) { return !m.is_detail && !m.is_loss; });
  CHECK(shown == 3);
}

}  // namespace fovea
