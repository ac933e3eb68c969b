// Random crops, erasing, colour jitter and the pipelines: how often, how large, where.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <set>

#include "data/augment/blur.h"
#include "data/augment/color.h"
#include "data/augment/training_pipeline.h"
#include "data/geometry/transforms.h"
#include "engine/base/error.h"
#include "tests/data/hash.h"
#include "tests/data/statistics.h"

namespace fovea {
namespace {

using tests::is_share;
using tests::kDraws;
using tests::Moments;

bool inside(const PixelBox& box, ImageSize image) {
  return box.top >= 0 && box.left >= 0 && box.top < box.bottom && box.left < box.right &&
         box.bottom <= image.height && box.right <= image.width;
}

/// Values of 100 with the boxes erased that are drawn.
std::vector<float> erased_values(ImageSize image, const EraseOptions& options, Rng& rng) {
  std::vector<float> values(static_cast<std::size_t>(3 * image.height * image.width), 100.0F);
  for (const auto& [box, fill] : draw_erasures(options, image, rng))
    erase_box(values.data(), image, box, fill);
  return values;
}

double uniform_deviation(double low, double high) { return (high - low) / std::sqrt(12.0); }

}  // namespace

TEST_CASE("RandomResizedCrop: area, ratio and place are uniform in their ranges") {
  // A quarter of the area, so that every ratio fits and none is drawn again.
  const ImageSize image{1000, 1000};
  for (const auto draw : {draw_resized_crop, draw_resized_crop_once}) {
    Rng rng(1);
    Moments areas, ratios, tops;
    for (int i = 0; i < kDraws; ++i) {
      const PixelBox box = draw(image, {.scale_low = 0.1, .scale_high = 0.4}, rng);
      REQUIRE(inside(box, image));
      areas.add(static_cast<double>(box.area()) / 1e6);
      ratios.add(
          std::log(static_cast<double>(box.size().width) / static_cast<double>(box.size().height)));
      tops.add(static_cast<double>(box.top) / static_cast<double>(1000 - box.size().height));
    }
    CHECK(areas.mean() == doctest::Approx(0.25).epsilon(0.02));
    CHECK(areas.deviation() == doctest::Approx(uniform_deviation(0.1, 0.4)).epsilon(0.03));
    const double half = std::log(4.0 / 3);
    CHECK(std::abs(ratios.mean()) < 0.02 * half);
    CHECK(ratios.deviation() == doctest::Approx(uniform_deviation(-half, half)).epsilon(0.03));
    CHECK(tops.mean() == doctest::Approx(0.5).epsilon(0.03));
    CHECK(tops.deviation() == doctest::Approx(uniform_deviation(0, 1)).epsilon(0.03));
  }
}

TEST_CASE("a crop of one attempt is its draw, cut to the image, anywhere along the other side") {
  const ImageSize image{100, 1000};
  int cut = 0;
  Moments places;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    Rng rng(2, i), same(2, i);
    const PixelBox box = draw_resized_crop_once(image, {}, rng);
    const double area = same.uniform(0.08, 1) * 100 * 1000;
    const double ratio = std::exp(same.uniform(std::log(3.0 / 4), std::log(4.0 / 3)));
    const auto height = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area / ratio)));
    const auto width = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area * ratio)));
    CHECK(box.size() == ImageSize{std::min<std::int64_t>(height, 100), width});
    REQUIRE(inside(box, image));
    if (height <= 100) continue;
    ++cut;
    places.add(static_cast<double>(box.left) / static_cast<double>(1000 - width));
  }
  CHECK(cut > kDraws / 2);
  CHECK(places.mean() == doctest::Approx(0.5).epsilon(0.03));
  CHECK(places.deviation() == doctest::Approx(uniform_deviation(0, 1)).epsilon(0.03));
}

TEST_CASE("RandomResizedCrop: by default 8 % to all of the area") {
  const ImageSize image{600, 800};
  Rng rng(2);
  double least = 1, most = 0;
  for (int i = 0; i < kDraws; ++i) {
    const PixelBox box = draw_resized_crop(image, {}, rng);
    REQUIRE(inside(box, image));
    const double share = static_cast<double>(box.area()) / (600.0 * 800);
    least = std::min(least, share);
    most = std::max(most, share);
  }
  CHECK(least == doctest::Approx(0.08).epsilon(0.02));
  CHECK(most > 0.95);
}

TEST_CASE("RandomResizedCrop: a strip that no draw fits gives its middle") {
  Rng rng(3);
  const CropRange whole{.scale_low = 1, .scale_high = 1};
  const PixelBox wide = draw_resized_crop({10, 100}, whole, rng);  // 10 x round(10 * 4 / 3)
  CHECK(wide.size() == ImageSize{10, 13});
  CHECK(wide.left == 43);
  const PixelBox tall = draw_resized_crop({100, 10}, whole, rng);
  CHECK(tall.size() == ImageSize{13, 10});
  CHECK(tall.top == 43);
  CHECK_THROWS_WITH_AS((void)draw_resized_crop({10, 10}, {.scale_low = 0}, rng),
                       "random crop: got scale 0 to 1 and ratio 0.75 to 1.33333, expected 0 < low "
                       "<= high <= 1000",
                       Error);
}

TEST_CASE("keep-ratio crops scale and stretch in half of the cases each") {
  Rng rng(4);
  std::int64_t plain = 0, stretched = 0;
  for (int i = 0; i < kDraws; ++i) {
    const ImageSize size = draw_kept_ratio({1000, 2000}, {500, 500}, {0.5, 0.9, 0.8, 1.25}, rng);
    plain += size == ImageSize{500, 1000};
    stretched += std::abs(2 * size.height - size.width) > 2;
    CHECK(size.height * size.width >= 490 * 990);
  }
  CHECK(is_share(plain, kDraws, 0.25));
  CHECK(is_share(stretched, kDraws, 0.5 * 0.99));
}

TEST_CASE("random erasing: how often, how large, where") {
  const ImageSize image{300, 300};
  Rng rng(5);
  Moments areas, ratios, lefts;
  for (int i = 0; i < kDraws; ++i) {
    const PixelBox box = draw_erased_box({.area_high = 0.2}, image, 1, rng);
    REQUIRE(inside(box, image));
    areas.add(static_cast<double>(box.area()) / 9e4);
    ratios.add(
        std::log(static_cast<double>(box.size().height) / static_cast<double>(box.size().width)));
    lefts.add(static_cast<double>(box.left) / static_cast<double>(300 - box.size().width));
  }
  CHECK(areas.mean() == doctest::Approx(0.11).epsilon(0.03));
  CHECK(areas.deviation() == doctest::Approx(uniform_deviation(0.02, 0.2)).epsilon(0.03));
  const double half = std::log(1 / 0.3);
  CHECK(std::abs(ratios.mean()) < 0.03 * half);
  CHECK(ratios.deviation() == doctest::Approx(uniform_deviation(-half, half)).epsilon(0.03));
  CHECK(lefts.mean() == doctest::Approx(0.5).epsilon(0.03));
  double most = 0;
  for (int i = 0; i < kDraws; ++i) {
    const PixelBox box = draw_erased_box({}, image, 1, rng);
    most = std::max(most, static_cast<double>(box.area()) / 9e4);
  }
  CHECK(most == doctest::Approx(1.0 / 3).epsilon(0.02));
  for (int i = 0; i < 200; ++i) CHECK(draw_erased_box({}, {1, 300}, 1, rng).area() == 0);
}

TEST_CASE("random erasing: probability and number of boxes") {
  const ImageSize image{40, 40};
  Rng rng(6);
  std::int64_t erased = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto values =
        erased_values(image, {.probability = 0.25, .fill = EraseFill::constant}, rng);
    erased += std::count(values.begin(), values.end(), 0.0F) > 0;
  }
  CHECK(is_share(erased, kDraws, 0.25));

  // Boxes share the area: with up to 4 boxes the erased share is that of one, less overlaps.
  Moments colors;
  for (int i = 0; i < 500; ++i) {
    const auto values = erased_values(image,
                                      {.probability = 1,
                                       .fill = EraseFill::random,
                                       .count = 4,
                                       .area_low = 0.01,
                                       .area_high = 0.02},
                                      rng);
    std::set<float> seen(values.begin(), values.begin() + 40 * 40);
    colors.add(static_cast<double>(seen.size()) - 1);
  }
  CHECK(colors.mean() == doctest::Approx(2.5).epsilon(0.06));
  CHECK_THROWS_AS((void)draw_erasures({.probability = 2}, image, rng), Error);
  CHECK_THROWS_AS((void)draw_erasures({.probability = 1, .count = 0}, image, rng), Error);
}

TEST_CASE("random erasing: what fills the boxes") {
  const ImageSize image{60, 60};
  Rng rng(7);
  std::vector<float> values = erased_values(image, {.probability = 1, .area_low = 0.3}, rng);
  Moments pixels;
  for (const float value : values)
    if (value != 100.0F) pixels.add(value);
  CHECK(pixels.mean() == doctest::Approx(0).scale(1).epsilon(0.05));
  CHECK(pixels.deviation() == doctest::Approx(1).epsilon(0.05));

  values = erased_values(image, {.probability = 1, .fill = EraseFill::random}, rng);
  for (int c = 0; c < 3; ++c) {
    const std::set<float> seen(values.begin() + c * 3600, values.begin() + (c + 1) * 3600);
    CHECK(seen.size() == 2);  // one colour beside what was there
  }
  const std::array<float, 2> two{};
  CHECK_THROWS_AS(erase_box(values.data(), image, {0, 2, 0, 2}, two), Error);
  const std::array<float, 3> three{};
  CHECK_THROWS_AS(erase_box(values.data(), image, {59, 61, 0, 2}, three), Error);
}

TEST_CASE("colour jitter: factors in their ranges, all orders") {
  Rng rng(8);
  std::array<Moments, 4> factors;
  std::array<std::int64_t, 4> first{};
  for (int i = 0; i < kDraws; ++i) {
    const auto steps = draw_jitter({0.4, 0.3, 1.5, 0.1}, rng);
    ++first[static_cast<std::size_t>(steps[0].kind)];
    for (const JitterStep& step : steps) {
      CHECK(step.active);
      factors[static_cast<std::size_t>(step.kind)].add(step.factor);
    }
  }
  const std::array<std::array<double, 2>, 4> ranges = {
      {{0.6, 1.4}, {0.7, 1.3}, {0, 2.5}, {-0.1, 0.1}}};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(is_share(first[i], kDraws, 0.25));
    const auto [low, high] = ranges[i];
    CHECK(std::abs(factors[i].mean() - (low + high) / 2) < 0.02 * (high - low));
    CHECK(factors[i].deviation() == doctest::Approx(uniform_deviation(low, high)).epsilon(0.03));
  }
  for (const JitterStep& step : draw_jitter({.brightness = 0.4}, rng))
    CHECK(step.active == (step.kind == JitterKind::brightness));
  CHECK_THROWS_AS((void)draw_jitter({.hue = 0.6}, rng), Error);
  CHECK_THROWS_AS((void)draw_jitter({.contrast = -0.1}, rng), Error);
}

TEST_CASE("a pipeline's steps are taken with their probabilities") {
  const Image image = tests::sample_image();
  AugmentOptions options;
  options.crop_padding = 0;
  options.flip = 0.3;
  options.vertical_flip = 0.2;
  Rng rng(9);
  Pipeline pipeline = training_pipeline(options);
  std::int64_t flipped = 0, upside_down = 0, both = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Image result = pipeline.apply({image}, rng).image;
    flipped += result == flip_horizontal(image);
    upside_down += result == flip_vertical(image);
    both += result == flip_vertical(flip_horizontal(image));
  }
  CHECK(is_share(flipped, kDraws, 0.3 * 0.8));
  CHECK(is_share(upside_down, kDraws, 0.7 * 0.2));
  CHECK(is_share(both, kDraws, 0.3 * 0.2));

  options.flip = options.vertical_flip = 0;
  options.grayscale = 0.2;
  pipeline = training_pipeline(options);
  std::int64_t gray = 0;
  for (int i = 0; i < kDraws; ++i) gray += pipeline.apply({image}, rng).image == grayscale(image);
  CHECK(is_share(gray, kDraws, 0.2));

  options.grayscale = 0;
  options.blur = 0.3;
  pipeline = training_pipeline(options);
  std::int64_t blurred = 0;
  for (int i = 0; i < 1000; ++i) blurred += pipeline.apply({image}, rng).image != image;
  CHECK(is_share(blurred, 1000, 0.3));
}

TEST_CASE("colour jitter comes with its probability, and not beside a policy but 3-Augment's") {
  const Image image = tests::sample_image();
  AugmentOptions options;
  options.crop_padding = 0;
  options.flip = 0;
  options.jitter = {0.4, 0.4, 0.4, 0.1};
  options.jitter_probability = 0.8;
  const auto changed = [&](int count) {
    const Pipeline pipeline = training_pipeline(options);
    Rng rng(10);
    std::int64_t result = 0;
    for (int i = 0; i < count; ++i) result += pipeline.apply({image}, rng).image != image;
    return result;
  };
  CHECK(is_share(changed(1000), 1000, 0.8));
  options.jitter_probability = 1;
  options.policy = "rand-p0";
  CHECK(changed(100) == 0);
  options.policy = "rand-p0-t3a";
  CHECK(changed(100) == 100);
}

TEST_CASE("random resized crops choose their box before decoding") {
  const Image image = resize(tests::sample_image(), {60, 80});
  AugmentOptions options;
  options.size = {24, 32};
  options.flip = 0;
  for (const bool once : {false, true}) {
    options.crop = once ? TrainCrop::resized_once : TrainCrop::resized;
    const Pipeline pipeline = training_pipeline(options);
    REQUIRE(pipeline.choose_box);
    Rng a(11), b(11);
    const PixelBox box = pipeline.choose_box({20, 80}, a);
    const auto draw = once ? draw_resized_crop_once : draw_resized_crop;
    const PixelBox expected = draw({20, 80}, {}, b);
    CHECK(box.top == expected.top);
    CHECK(box.right == expected.right);
    const Image part = crop(image, box.top, box.left, box.size());
    CHECK(pipeline.apply({part}, a).image == resize(part, {24, 32}));
  }
  options.size = {};
  CHECK_THROWS_AS((void)training_pipeline(options), Error);
}

TEST_CASE("the other crops end at the size of training") {
  const Image image = resize(tests::sample_image(), {60, 80});
  for (const TrainCrop crop : {TrainCrop::pad, TrainCrop::keep_ratio_center,
                               TrainCrop::keep_ratio_random, TrainCrop::simple}) {
    AugmentOptions options;
    options.crop = crop;
    options.size = {40, 24};
    options.range = {0.8, 1.2, 0.5, 2};
    options.filter.reset();  // drawn
    const Pipeline pipeline = training_pipeline(options);
    CHECK(!pipeline.choose_box);
    Rng rng(12);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 30; ++i) {
      const Image result = pipeline.apply({image}, rng).image;
      CHECK(result.height == 40);
      CHECK(result.width == 24);
      seen.insert(tests::hash_of(result));
    }
    CHECK(seen.size() > 20);
  }
}

TEST_CASE("policies fill with the mean colour and shift by a share of the size") {
  AugmentOptions options;
  options.crop_padding = 0;
  options.flip = 0;
  options.size = {40, 40};
  options.normalization = kImageNetNormalization;
  options.policy = "rand-n1-p1-m10-t3a";
  CHECK(mean_color(kImageNetNormalization) == Color8{124, 116, 104});
  options.policy = "rank-m9";
  CHECK_THROWS_AS((void)training_pipeline(options), Error);
}

TEST_CASE("erasing is the pipeline's last step") {
  AugmentOptions options;
  CHECK(!training_pipeline(options).draw_erasures);
  options.erase.probability = 1;
  const Pipeline pipeline = training_pipeline(options);
  REQUIRE(pipeline.draw_erasures);
  Rng rng(13);
  CHECK(pipeline.draw_erasures({32, 32}, rng).size() == 1);
}

TEST_CASE("the pipeline's blur has 23 taps and a deviation of 0.1 to 2") {
  AugmentOptions options;
  options.blur = 1;
  const Pipeline pipeline = training_pipeline(options);
  const Image image = tests::sample_image();
  Rng rng(3, 4), same(3, 4);
  for (int i = 0; i < 5; ++i) {
    const Image blurred = pipeline.vary({image}, rng).image;
    static_cast<void>(same.uniform());  // whether to blur
    CHECK(blurred == gaussian_filter(image, 23, same.uniform(0.1, 2)));
  }
}

}  // namespace fovea
