// Crops, flips, normalisation and pipelines.
#include "data/transforms.h"

#include <doctest/doctest.h>

#include <set>

#include "base/error.h"
#include "data/augment/pipeline.h"
#include "data/evaluation.h"
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

TEST_CASE("center_crop rounds halves to even as Python does") {
  const Image image = tests::sample_image();                       // 11 x 13
  CHECK(center_crop(image, {8, 8}) == crop(image, 2, 2, {8, 8}));  // 1.5 and 2.5
  CHECK(center_crop(image, {6, 6}) == crop(image, 2, 4, {6, 6}));  // 2.5 and 3.5
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

TEST_CASE("random_crop reaches every offset of the padding and no other") {
  const Image image = tests::sample_image();
  std::set<std::uint64_t> allowed, seen;  // hashes
  for (std::int64_t top = -2; top <= 2; ++top)
    for (std::int64_t left = -2; left <= 2; ++left)
      allowed.insert(tests::hash_of(crop(image, top, left, {11, 13})));
  Rng rng(1);
  for (int i = 0; i < 400; ++i) seen.insert(tests::hash_of(random_crop(image, 2, rng)));
  CHECK(seen == allowed);
  CHECK_THROWS_AS((void)random_crop(image, -1, rng), Error);
}

TEST_CASE("random_flip mirrors with its probability") {
  const Image image = tests::sample_image();
  Rng rng(2);
  int flips = 0;
  for (int i = 0; i < 1000; ++i) flips += random_flip(image, 0.25, rng) != image;
  CHECK(flips == doctest::Approx(250).epsilon(0.2));
  CHECK(random_flip(image, 0, rng) == image);
  CHECK(random_flip(image, 1, rng) == flip_horizontal(image));
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

TEST_CASE("resize_for_evaluation scales the shorter side and crops the centre") {
  const Image image = tests::sample_image();  // 11 x 13: to 9 x int(9 * 13 / 11) = 9 x 10
  const Image whole = resize(image, {9, 10});
  CHECK(resize_for_evaluation(image, {8, 8}) == center_crop(whole, {8, 8}));
  // Not square: just covers 9 x 4, so 9 x round(13 * 9 / 11) = 9 x 11.
  CHECK(resize_for_evaluation(image, {8, 4}) == center_crop(resize(image, {9, 11}), {8, 4}));
  CHECK_THROWS_WITH_AS((void)resize_for_evaluation(image, {8, 8}, 0),
                       "resize_for_evaluation: got crop_pct 0, expected more than 0 and at most 1",
                       Error);
}

TEST_CASE("the training pipeline is a function of image and rng") {
  const Pipeline pipeline = training_pipeline({});
  const Image image = tests::sample_image();
  Rng a(3, 5), b(3, 5), expected(3, 5);
  const Image first = pipeline.apply(image, a);
  CHECK(first == pipeline.apply(image, b));
  CHECK(first == random_flip(random_crop(image, 4, expected), 0.5, expected));
  Rng rng(0);
  CHECK(training_pipeline({.crop_padding = 0, .flip = 0}).apply(image, rng) == image);
  CHECK(training_pipeline({.size = {20, 24}}).apply(image, rng).height == 20);
}

TEST_CASE("the evaluation pipeline crops photographs, not small images") {
  Rng rng(0);
  const Image small = tests::sample_image(), photo = resize(small, {60, 90});
  CHECK(evaluation_pipeline({}).apply(photo, rng) == photo);
  CHECK(evaluation_pipeline({.size = {32, 32}}).apply(small, rng) == resize(small, {32, 32}));
  CHECK(evaluation_pipeline({.size = {32, 32}}).apply(photo, rng) ==
        resize_for_evaluation(photo, {32, 32}));
}

}  // namespace fovea
