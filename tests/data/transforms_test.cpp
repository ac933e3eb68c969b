// Crops, flips, normalisation and pipelines of 8-bit RGB.
#include "data/geometry/transforms.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "data/augment/training_pipeline.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/base/error.h"
#include "tests/data/hash.h"

namespace fovea {
namespace {

bool is_black(const std::uint8_t* pixel) { return !pixel[0] && !pixel[1] && !pixel[2]; }

}  // namespace

TEST_CASE("crop copies the part and pads with black") {
  const Image image = tests::sample_image();
  const Image part = crop(image, -1, 2, {4, 20});
  for (std::int64_t y = 0; y < 4; ++y)
    for (std::int64_t x = 0; x < 20; ++x) {
      const bool outside = y == 0 || x + 2 >= image.width;
      if (outside)
        CHECK(is_black(part.at(y, x)));
      else
        CHECK(std::equal(part.at(y, x), part.at(y, x) + 3, image.at(y - 1, x + 2)));
    }
  CHECK(crop(image, 100, -100, {2, 2}) == Image(2, 2));
}

TEST_CASE("the middle of an image rounds halves to even as Python does") {
  const ImageSize size{11, 13};
  CHECK(center_box(size, {8, 8}).top == 2);  // 1.5 and 2.5
  CHECK(center_box(size, {8, 8}).left == 2);
  CHECK(center_box(size, {6, 6}).top == 2);  // 2.5 and 3.5
  CHECK(center_box(size, {6, 6}).left == 4);
  CHECK(center_box(size, {6, 6}).size() == ImageSize{6, 6});
}

TEST_CASE("flip_horizontal mirrors rows") {
  for (const std::int64_t width : {13, 12, 2, 1, 0}) {
    CAPTURE(width);
    const Image image = crop(tests::sample_image(), 0, 0, {11, width});
    const Image mirrored = flip_horizontal(image);
    for (std::int64_t x = 0; x < width; ++x)
      CHECK(std::equal(image.at(3, x), image.at(3, x + 1), mirrored.at(3, width - 1 - x)));
    CHECK(flip_horizontal(mirrored) == image);
  }
}

TEST_CASE("a padded crop reaches every offset of the padding and no other") {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  Rng rng(1);
  for (int i = 0; i < 400; ++i) {
    const PixelBox box = draw_padded_crop({11, 13}, 2, rng);
    CHECK(box.size() == ImageSize{11, 13});
    CHECK(std::max(std::abs(box.top), std::abs(box.left)) <= 2);
    seen.emplace(box.top, box.left);
  }
  CHECK(seen.size() == 25);
  CHECK_THROWS_AS((void)draw_padded_crop({11, 13}, -1, rng), Error);
}

TEST_CASE("normalize writes channels first") {
  const Image image = tests::sample_image();
  const Normalization n = {{0.5F, 0.25F, 0.125F}, {0.5F, 0.25F, 2.0F}};
  std::vector<float> output(3 * 11 * 13);
  normalize(image, n, output.data());
  for (std::size_t c = 0; c < 3; ++c) {
    const float value = static_cast<float>(image.at(4, 7)[c]) / 255;
    CHECK(output[(c * 11 + 4) * 13 + 7] == (value - n.mean[c]) / n.deviation[c]);
  }
}

TEST_CASE("evaluation scales the shorter side and crops the centre") {
  const Image image = tests::sample_image();  // 11 x 13: to 9 x int(9 * 13 / 11) = 9 x 10
  EvaluationTransform transform;
  transform.crop.mode = CropMode::center;
  transform.size = {8, 8};
  CHECK(prepare_for_evaluation(image, transform) == crop(resize(image, {9, 10}), 0, 1, {8, 8}));
  // Not square: just covers 9 x 4, so 9 x round(13 * 9 / 11) = 9 x 11.
  transform.size = {8, 4};
  CHECK(prepare_for_evaluation(image, transform) == crop(resize(image, {9, 11}), 0, 4, {8, 4}));
  transform.crop.crop_pct = 0;
  CHECK_THROWS_WITH_AS((void)prepare_for_evaluation(image, transform),
                       "evaluation: got crop_pct 0, expected more than 0 and at most 1", Error);
}

TEST_CASE("the training pipeline is a function of sample and rng") {
  const Pipeline pipeline = training_pipeline({});
  const Image image = tests::sample_image();
  Rng a(3, 5), b(3, 5), expected(3, 5);
  const Image first = pipeline.apply({image}, a).image;
  CHECK(first == pipeline.apply({image}, b).image);
  const PixelBox box = draw_padded_crop(image.size(), 4, expected);
  const Image part = crop(image, box.top, box.left, box.size());
  CHECK(first == (expected.uniform() < 0.5 ? flip_horizontal(part) : part));
  Rng rng(0);
  CHECK(training_pipeline({.crop_padding = 0, .flip = 0}).apply({image}, rng).image == image);
  CHECK(training_pipeline({.size = {20, 24}}).apply({image}, rng).image.height == 20);
}

TEST_CASE("the evaluation pipeline crops photographs, not small images") {
  Rng rng(0);
  const Image small = tests::sample_image(), photo = resize(small, {60, 90});
  CHECK(evaluation_pipeline({}).apply({photo}, rng).image == photo);
  const Pipeline pipeline = evaluation_pipeline({.size = {32, 32}});
  CHECK(pipeline.apply({small}, rng).image == resize(small, {32, 32}));
  CHECK(pipeline.apply({photo}, rng).image ==  // 36 = int(32 / 0.875)
        crop(resize(photo, {36, 54}), 2, 11, {32, 32}));
}

TEST_CASE("an evaluation without a size leaves images as they are") {
  const EvaluationTransform none;
  CHECK(evaluation_moves({40, 72}, none).empty());
  const Image image(5, 3);
  CHECK(prepare_for_evaluation(image, none) == image);
}

}  // namespace fovea
