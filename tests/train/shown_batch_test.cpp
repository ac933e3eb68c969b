// What sheets of training images show: names of classes, of mixed ones too, and boxes.
#include "train/loop/shown_batch.h"

#include <doctest/doctest.h>

#include "tests/support/tiny_run.h"
#include "train/tasks/detection.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea {
namespace {

Batch labelled_batch(const std::vector<double>& labels) {
  Batch batch;
  const std::int64_t count = std::ssize(labels);
  batch.images = zeros({count, 3, 32, 32});
  batch.labels = from_values({count}, labels, {DType::i64, {}});
  return batch;
}

}  // namespace

TEST_CASE("images of a classifier are named by their labels, mixed ones by both classes") {
  TrainConfig config = plain_config();
  const Datasets data = tiny_data();
  Notices notices;
  const auto model = start_model(config, data, notices);
  const auto task = make_task(config, *model, data.train.get());
  const std::vector<std::string>& classes = data.train->class_names();
  Batch batch = labelled_batch({3, 1});
  CHECK(shown_batch(*task, batch, *data.train).names ==
        std::vector<std::string>{classes[3], classes[1]});
  Tensor targets = full({2, 10}, 0.01);
  targets.data<float>()[3] = 0.6F;
  targets.data<float>()[1] = 0.31F;
  targets.data<float>()[10 + 1] = 0.91F;
  batch.set("targets", targets);
  const ShownBatch mixed = shown_batch(*task, batch, *data.train);
  CHECK(mixed.names == std::vector<std::string>{classes[3] + "+" + classes[1], classes[1]});
  CHECK(mixed.boxes.empty());
  const Image sheet = batch_sheet(mixed, config.run.normalization);
  CHECK(sheet.size() == ImageSize{64 + 18, 2 * 64 + 2});

  config = tiny_mae_config();
  const auto autoencoder = start_model(config, data, notices);
  const auto masking = make_task(config, *autoencoder, data.train.get());
  const ShownBatch plain = shown_batch(*masking, labelled_batch({3, 1}), *data.train);
  CHECK(plain.names.empty());
  CHECK(batch_sheet(plain, config.run.normalization).size() == ImageSize{32, 2 * 33 - 1});
}

TEST_CASE("boxes of a padded batch are in pixels of its images, with their names") {
  Batch batch;
  batch.images = zeros({1, 3, 40, 40});
  Tensor mask = zeros({1, 40, 40});
  for (std::int64_t y = 0; y < 20; ++y)
    for (std::int64_t x = 0; x < 30; ++x) mask.data<float>()[y * 40 + x] = 1;
  batch.labels = zeros({1}, {DType::i64, {}});
  batch.set("mask", mask);
  batch.set("boxes", from_values({1, 1, 4}, {3, 4, 15, 14}));
  batch.set("box_labels", from_values({1, 1}, {2}, {DType::i64, {}}));
  batch.set("box_count", from_values({1}, {1}, {DType::i64, {}}));
  const auto boxes = shown_boxes_of(with_relative_boxes(batch));
  REQUIRE(boxes.size() == 1);
  REQUIRE(boxes[0].size() == 1);
  CHECK(boxes[0][0].x == doctest::Approx(3));
  CHECK(boxes[0][0].y == doctest::Approx(4));
  CHECK(boxes[0][0].width == doctest::Approx(12));
  CHECK(boxes[0][0].height == doctest::Approx(10));
  CHECK(boxes[0][0].color == 2);
  const Image sheet = batch_sheet({batch.images, {}, boxes}, kCifarNormalization);
  CHECK(sheet.size() == ImageSize{160, 160});
}

}  // namespace fovea
