// What a batch holds apart from images and labels: padded images with their mask, boxes, dense
// maps.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "data/augment/training_pipeline.h"
#include "data/geometry/geometry.h"
#include "data/loading/loader.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "tests/support/drawn_boxes.h"
#include "tests/support/drawn_depth.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using tests::DrawnBoxes;
using tests::DrawnDepth;

/// Values come to 0 .. 1.
Pipeline plain_pipeline() {
  Pipeline pipeline;
  pipeline.normalization = {{0, 0, 0}, {1, 1, 1}};
  return pipeline;
}

LoaderOptions padded(std::int64_t batch, std::int64_t multiple) {
  LoaderOptions options = evaluation_loader_options(batch, 1);
  options.rows.pad_multiple = multiple;
  return options;
}

Batch first_batch(std::shared_ptr<const Dataset> data, const Pipeline& pipeline,
                  const LoaderOptions& options) {
  Loader loader(std::move(data), pipeline, options);
  return loader.next();
}

/// Whatever it is given.
class Given : public Dataset {
 public:
  explicit Given(std::vector<Sample> samples) : samples_(std::move(samples)) {}
  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return std::ssize(samples_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override { return samples_.at(index); }

 private:
  std::vector<Sample> samples_;
  std::vector<std::string> names_;
};

Batch batch_of(std::vector<Sample> samples, std::int64_t multiple = 0) {
  const auto count = static_cast<std::int64_t>(samples.size());
  return first_batch(std::make_shared<Given>(std::move(samples)), plain_pipeline(),
                     padded(count, multiple));
}

/// Of PNG files that are drawn, with the boxes of what was drawn.
class BoxFiles : public FileDataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return drawn_.size(); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return drawn_.class_names();
  }
  [[nodiscard]] std::int64_t label(std::int64_t) const override { return 0; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override {
    const Image image = drawn_.get(index).image;
    return FOVEA_HAS_JPEG != 0 && as_jpeg ? encode_jpeg(image, {.quality = 95}) : encode_png(image);
  }

  bool as_jpeg = false;

 protected:
  [[nodiscard]] ImageTargets targets(std::int64_t index) const override {
    return drawn_.get(index).targets;
  }

 private:
  DrawnBoxes drawn_;
};

}  // namespace

TEST_CASE("images of several sizes are padded to the largest, with a mask") {
  const auto drawn = std::make_shared<DrawnBoxes>();
  for (const std::int64_t multiple : {1, 32}) {
    const Batch batch = first_batch(drawn, plain_pipeline(), padded(5, multiple));
    ImageSize largest{};
    for (std::int64_t i = 0; i < 5; ++i) {
      const ImageSize size = drawn->get(i).image.size();
      largest = {std::max(largest.height, size.height), std::max(largest.width, size.width)};
    }
    const std::int64_t height = batch.images.size(2), width = batch.images.size(3);
    CHECK(height == (largest.height + multiple - 1) / multiple * multiple);
    CHECK(width == (largest.width + multiple - 1) / multiple * multiple);
    const Tensor mask = batch.at("mask");
    REQUIRE(mask.shape() == Shape{5, height, width});
    for (std::int64_t b = 0; b < 5; ++b) {
      const Image image = drawn->get(b).image;
      for (std::int64_t y = 0; y < height; y += 3)
        for (std::int64_t x = 0; x < width; x += 3) {
          const bool inside = y < image.height && x < image.width;
          CHECK(mask.at((b * height + y) * width + x) == (inside ? 1 : 0));
          const double green = batch.images.at(((b * 3 + 1) * height + y) * width + x);
          CHECK(green == doctest::Approx(inside ? image.at(y, x)[1] / 255.0 : 0).epsilon(1e-6));
        }
    }
  }
}

TEST_CASE("without the option several sizes stay an error, and one size needs no mask") {
  const auto drawn = std::make_shared<DrawnBoxes>();
  CHECK_THROWS_AS((void)first_batch(drawn, plain_pipeline(), padded(5, 0)), Error);
  AugmentOptions options;
  options.size = {32, 32};
  const Batch batch = first_batch(drawn, training_pipeline(options), padded(5, 0));
  CHECK_FALSE(batch.find("mask").defined());
  CHECK(batch.at("boxes").size(0) == 5);
  CHECK_THROWS_AS((void)first_batch(drawn, plain_pipeline(), padded(5, -1)), Error);
}

TEST_CASE("boxes are padded to the most of the batch, and counted") {
  const auto drawn = std::make_shared<DrawnBoxes>();
  const Batch batch = first_batch(drawn, plain_pipeline(), padded(7, 1));
  const Tensor boxes = batch.at("boxes"), labels = batch.at("box_labels");
  const std::int64_t most = boxes.size(1);
  REQUIRE(boxes.shape() == Shape{7, most, 4});
  REQUIRE(labels.shape() == Shape{7, most});
  std::int64_t seen = 0;
  for (std::int64_t b = 0; b < 7; ++b) {
    const std::vector<ObjectBox> expected = *drawn->get(b).targets.boxes;
    const auto count = static_cast<std::int64_t>(expected.size());
    seen = std::max(seen, count);
    CHECK(batch.at("box_count").at(b) == static_cast<double>(count));
    for (std::int64_t m = 0; m < most; ++m) {
      const ObjectBox box = m < count ? expected[m] : ObjectBox{0, 0, 0, 0, -1};
      const std::int64_t at = (b * most + m) * 4;
      CHECK(boxes.at(at) == static_cast<double>(box.x0));
      CHECK(boxes.at(at + 1) == static_cast<double>(box.y0));
      CHECK(boxes.at(at + 2) == static_cast<double>(box.x1));
      CHECK(boxes.at(at + 3) == static_cast<double>(box.y1));
      CHECK(labels.at(b * most + m) == static_cast<double>(box.label));
    }
  }
  CHECK(seen == most);
  CHECK(batch.at("box_count").at(6) == 0);  // the seventh image is empty
}

TEST_CASE("a batch without objects has room for one box") {
  Sample empty{Image(4, 4), 0, {}};
  empty.targets.boxes.emplace();
  const Batch batch = batch_of({empty, empty});
  CHECK(batch.at("boxes").shape() == Shape{2, 1, 4});
  CHECK(batch.at("box_labels").to_vector() == std::vector<double>{-1, -1});
  CHECK(batch.at("box_count").to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("dense maps become members of their names, in f32") {
  const auto drawn = std::make_shared<DrawnDepth>();
  const Batch batch = first_batch(drawn, plain_pipeline(), padded(3, 0));
  REQUIRE(batch.at("depth").shape() == Shape{3, 1, 32, 32});
  REQUIRE(batch.at("valid").shape() == Shape{3, 1, 32, 32});
  const Sample second = drawn->get(1);
  for (std::int64_t i = 0; i < 32 * 32; ++i) {
    CHECK(batch.at("depth").at(1024 + i) ==
          static_cast<double>(*second.targets.maps[0].values.values<float>(i / 32, i % 32)));
    CHECK(batch.at("valid").at(1024 + i) == *second.targets.maps[1].values.at(i / 32, i % 32));
  }
}

TEST_CASE("dense maps of several sizes are padded with their value outside") {
  const auto sample_of = [](std::int64_t height, std::int64_t width) {
    Image classes(height, width, {PixelType::u16, 2});
    for (std::int64_t x = 0; x < width; ++x) classes.values<std::uint16_t>(0, x)[1] = 300;
    return Sample{Image(height, width), 0, {{}, {{"classes", classes, Filter::nearest, 255}}}};
  };
  const Batch batch = batch_of({sample_of(1, 2), sample_of(2, 1)}, 1);
  CHECK(batch.at("classes").shape() == Shape{2, 2, 2, 2});
  CHECK(batch.at("classes").to_vector() ==
        std::vector<double>{0, 0, 255, 255, 300, 300, 255, 255, 0, 255, 0, 255, 300, 255, 0, 255});
}

TEST_CASE("images of one channel, of many and of other types are batches too") {
  Sample latent{Image(2, 2, {PixelType::f32, 5}), 3, {}};
  latent.image.values<float>(1, 0)[4] = -7.5F;
  const Batch batch = batch_of({latent, latent});
  CHECK(batch.images.shape() == Shape{2, 5, 2, 2});
  CHECK(batch.images.at(4 * 4 + 2) == -7.5);
  CHECK(batch.labels.at(1) == 3);

  const auto mixed = [&] { (void)batch_of({latent, Sample{Image(2, 2), 0, {}}}); };
  CHECK(contains(message_of(mixed), "it has 3 channels, the batch began with 5"));
  AugmentOptions erasing;
  erasing.crop_padding = 0;
  erasing.erase.probability = 1;
  const auto erased = [&] {
    (void)first_batch(std::make_shared<Given>(std::vector<Sample>{latent}),
                      training_pipeline(erasing), padded(1, 0));
  };
  CHECK(contains(message_of(erased), "its image is f32 x 5"));
}

TEST_CASE("samples of a batch have the same kinds of targets") {
  Sample with{Image(4, 4), 0, {}}, without = with, other = with;
  with.targets.boxes.emplace();
  other.targets.maps = {{"depth", Image(4, 4, {PixelType::f32, 1}), Filter::nearest, 0}};
  CHECK(contains(message_of([&] {
                   (void)batch_of({with, without});
                 }),
                 "some samples have boxes and others have none"));
  CHECK(contains(message_of([&] {
                   (void)batch_of({without, other});
                 }),
                 "samples differ in their dense maps"));
  other.image = Image(4, 5);
  CHECK(contains(message_of([&] { (void)batch_of({other}); }),
                 "its map \"depth\" is 4x4, its image 4x5"));
}

TEST_CASE("padded batches are the same for any number of workers") {
  AugmentOptions options;
  options.flip = 0.5;
  options.policy = "rand-m9-mstd0.5";
  options.erase.probability = 0.5;
  const auto boxes = std::make_shared<DrawnBoxes>();
  std::vector<std::vector<double>> expected;
  for (const int workers : {0, 1, 3}) {
    LoaderOptions load;
    load.batch_size = 6;
    load.workers = workers;
    load.rows.pad_multiple = 8;
    load.rows.splits = 2;
    Loader loader(boxes, training_pipeline(options), load);
    std::vector<std::vector<double>> found;
    for (int i = 0; i < 4; ++i) {
      const Batch batch = loader.next();
      CHECK(batch.size() == 12);
      found.push_back(batch.images.to_vector());
      found.push_back(batch.at("boxes").to_vector());
    }
    if (workers == 0) expected = found;
    CHECK(found == expected);
  }
}

TEST_CASE("a part of an image comes with the boxes that lie there") {
  const DrawnBoxes drawn;
  const PixelBox part{5, 35, 8, 38};
  const auto choose = [&](ImageSize) { return part; };
  BoxFiles files;
  for (std::int64_t i = 0; i < 8; ++i) {
    const Sample expected = moved(drawn.get(i), geometry::Crop{part});
    for (const Sample& found : {drawn.get(i, choose, {}), files.get(i, choose, {})}) {
      CHECK(found.image == expected.image);
      CHECK(found.targets == expected.targets);
    }
    CHECK(files.get(i).targets == drawn.get(i).targets);
  }
}

TEST_CASE("boxes shrink with a file that is decoded smaller" * doctest::skip(FOVEA_HAS_JPEG == 0)) {
  BoxFiles files;
  files.as_jpeg = true;
  const auto choose = [](ImageSize size) { return PixelBox{0, size.height, 0, size.width}; };
  for (std::int64_t i = 0; i < 6; ++i) {
    const Sample whole = files.get(i), small = files.get(i, choose, {20, 20});
    if (small.image.size() == whole.image.size()) continue;  // it was not shrunk
    REQUIRE(small.targets.boxes->size() == whole.targets.boxes->size());
    for (std::size_t k = 0; k < small.targets.boxes->size(); ++k) {
      CHECK((*small.targets.boxes)[k].x1 ==
            doctest::Approx((*whole.targets.boxes)[k].x1 / 2).epsilon(0.05));
    }
  }
  CHECK(files.get(0, choose, {20, 20}).image.height < files.get(0).image.height);
}

}  // namespace fovea
