// Mixup and cutmix: the arithmetic against hand-made values, the draws against their laws.
#include "data/augment/mixup.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/random.h"

namespace fovea {
namespace {

/// Of 3 x 4 x 4, with different values everywhere.
Batch four_images() {
  return {rand_uniform({4, 3, 4, 4}, {-2, 2}, {7}),
          from_values({4}, {1, 0, 2, 1}, {DType::i64, {}})};
}

/// One draw for the whole batch.
std::vector<MixDraw> all(const MixDraw& draw) { return {draw}; }

}  // namespace

TEST_CASE("mixup blends with the partner from the other end") {
  const Batch batch = four_images();
  const Tensor mixed = mix_images(batch.images, all({.lambda = 0.3}));
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t k = 0; k < 48; ++k) {
      const double own = batch.images.at(i * 48 + k), other = batch.images.at((3 - i) * 48 + k);
      CHECK(mixed.at(i * 48 + k) == doctest::Approx(0.3 * own + 0.7 * other).epsilon(1e-5));
    }
}

TEST_CASE("cutmix copies the box from the partner, in every channel") {
  const Batch batch = four_images();
  const MixDraw draw = {0.75, true, {.top = 1, .bottom = 3, .left = 2, .right = 4}};
  const Tensor mixed = mix_images(batch.images, all(draw));
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t y = 0; y < 4; ++y)
        for (std::int64_t x = 0; x < 4; ++x) {
          const bool inside = y >= 1 && y < 3 && x >= 2;
          const std::int64_t pixel = c * 16 + y * 4 + x;
          CHECK(mixed.at(i * 48 + pixel) == batch.images.at((inside ? 3 - i : i) * 48 + pixel));
        }
}

TEST_CASE("the cutmix box and lambda are timm's") {
  struct Row {
    double lambda;
    std::int64_t y, x, top, bottom, left, right;
    double corrected;
  };
  const Row rows[] = {{0.3, 16, 16, 3, 29, 3, 29, 0.33984375},
                      {0.75, 2, 30, 0, 10, 22, 32, 0.90234375},
                      {0.5, 31, 0, 20, 32, 0, 11, 0.87109375}};
  for (const Row& row : rows) {
    const MixDraw draw = cutmix_draw(row.lambda, row.y, row.x, 32, 32);
    CHECK(draw.box.top == row.top);
    CHECK(draw.box.bottom == row.bottom);
    CHECK(draw.box.left == row.left);
    CHECK(draw.box.right == row.right);
    CHECK(draw.lambda == row.corrected);
  }
}

TEST_CASE("targets are smoothed, then mixed") {
  const Batch batch = four_images();
  const MixOptions options = {.smoothing = 0.3, .classes = 3};  // on 0.8, off 0.1
  const Tensor targets = mix_targets(batch.labels, all({.lambda = 0.25}), options);
  const std::vector<double> expected = {0.1,   0.8, 0.1,   0.275, 0.1, 0.625,
                                        0.625, 0.1, 0.275, 0.1,   0.8, 0.1};
  for (std::int64_t k = 0; k < 12; ++k)
    CHECK(targets.at(k) == doctest::Approx(expected[k]).epsilon(1e-6));
}

TEST_CASE("draws follow the options") {
  Rng rng(5);
  int cuts = 0, none = 0;
  double sum = 0, squares = 0;
  for (int i = 0; i < 4000; ++i) {
    const MixDraw draw = draw_mix(
        {.mixup = 0.8, .cutmix = 1, .probability = 0.75, .switch_probability = 0.25}, 32, 32, rng);
    none += draw.lambda == 1 && !draw.is_cutmix;
    cuts += draw.is_cutmix;
  }
  CHECK(none == doctest::Approx(1000).epsilon(0.1));
  CHECK(cuts == doctest::Approx(750).epsilon(0.1));

  for (int i = 0; i < 4000; ++i) {  // Beta(0.8, 0.8): mean 1/2, variance 1 / (4 (2 a + 1))
    const double lambda = draw_mix({.mixup = 0.8, .cutmix = 0}, 32, 32, rng).lambda;
    sum += lambda;
    squares += lambda * lambda;
  }
  CHECK(sum / 4000 == doctest::Approx(0.5).epsilon(0.03));
  CHECK(squares / 4000 - 0.25 == doctest::Approx(1 / 10.4).epsilon(0.06));
  CHECK(draw_mix({.mixup = 0, .cutmix = 1}, 32, 32, rng).is_cutmix);
  CHECK(draw_mix({.mixup = 0, .cutmix = 0}, 32, 32, rng).lambda == 1);
}

TEST_CASE("each sample may have a draw of its own") {
  const Batch batch = four_images();
  const std::vector<MixDraw> draws = {{.lambda = 0.9},
                                      {0.75, true, {.top = 0, .bottom = 2, .left = 0, .right = 2}},
                                      {.lambda = 1},
                                      {.lambda = 0.2}};
  const Tensor mixed = mix_images(batch.images, draws);
  const auto value = [&](std::int64_t i, std::int64_t k) { return batch.images.at(i * 48 + k); };
  CHECK(mixed.at(5) == doctest::Approx(0.9 * value(0, 5) + 0.1 * value(3, 5)));
  CHECK(mixed.at(48 + 5) == value(2, 5));  // row 1, column 1: inside
  CHECK(mixed.at(48 + 6) == value(1, 6));
  CHECK(mixed.at(96 + 5) == value(2, 5));
  CHECK(mixed.at(144 + 5) == doctest::Approx(0.2 * value(3, 5) + 0.8 * value(0, 5)));
  const Tensor targets = mix_targets(batch.labels, draws, {.smoothing = 0, .classes = 3});
  CHECK(targets.at(1) == 1);  // both of class 1
  CHECK(targets.at(3) == doctest::Approx(0.75));
  CHECK_THROWS_WITH_AS((void)mix_images(batch.images, std::vector<MixDraw>(3)),
                       "mixup: got 3 draws, expected 1 or 4", Error);
}

TEST_CASE("modes: one draw for all, for each pair, for each sample") {
  MixOptions options = {.cutmix = 0};
  const auto lambdas = [&](MixMode mode) {
    options.mode = mode;
    Rng rng(21);
    std::vector<double> values;
    for (const MixDraw& draw : draw_mixes(options, {8, 3, 4, 4}, rng))
      values.push_back(draw.lambda);
    return values;
  };
  const auto batch = lambdas(MixMode::batch), pair = lambdas(MixMode::pair),
             element = lambdas(MixMode::element);
  CHECK(std::set<double>(batch.begin(), batch.end()).size() == 1);
  CHECK(std::set<double>(pair.begin(), pair.end()).size() == 4);
  CHECK(std::set<double>(element.begin(), element.end()).size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(pair[i] == pair[7 - i]);
  CHECK(std::equal(pair.begin(), pair.begin() + 4, element.begin()));
  Rng rng(21);
  CHECK(draw_mix(options, 4, 4, rng).lambda == batch[0]);
}

TEST_CASE("in modes pair and elem every draw has the probabilities") {
  MixOptions options = {.mixup = 0.8, .cutmix = 1, .probability = 0.5, .switch_probability = 0.25};
  options.mode = MixMode::element;
  Rng rng(22);
  int cuts = 0, none = 0;
  for (const MixDraw& draw : draw_mixes(options, {4000, 3, 32, 32}, rng)) {
    none += draw.lambda == 1 && !draw.is_cutmix;
    cuts += draw.is_cutmix;
  }
  CHECK(none == doctest::Approx(2000).epsilon(0.06));
  CHECK(cuts == doctest::Approx(500).epsilon(0.12));
}

TEST_CASE("cutmix-minmax draws the sides, and lambda is what they leave") {
  const MixOptions options = {
      .mixup = 0, .cutmix = 0, .cutmix_minmax = std::array<double, 2>{0.25, 0.75}};
  Rng rng(23);
  double heights = 0, tops = 0;
  for (int i = 0; i < 4000; ++i) {
    const MixDraw draw = draw_mix(options, 40, 80, rng);
    REQUIRE(draw.is_cutmix);
    const std::int64_t height = draw.box.bottom - draw.box.top;
    const std::int64_t width = draw.box.right - draw.box.left;
    CHECK(height >= 10);
    CHECK(height < 30);
    CHECK(width >= 20);
    CHECK(width < 60);
    CHECK(draw.box.top >= 0);
    CHECK(draw.box.right <= 80);
    CHECK(draw.lambda == doctest::Approx(1 - static_cast<double>(height * width) / 3200));
    heights += static_cast<double>(height);
    tops += static_cast<double>(draw.box.top) / static_cast<double>(40 - height);
  }
  CHECK(heights / 4000 == doctest::Approx(19.5).epsilon(0.02));
  CHECK(tops / 4000 == doctest::Approx(0.5).epsilon(0.03));
}

TEST_CASE("8-bit images are mixed to whole numbers, halves to even") {
  const Tensor images = from_values({2, 1, 1, 3}, {0, 10, 255, 1, 13, 254}, {DType::u8, {}});
  const Tensor mixed = mix_images(images, all({.lambda = 0.5}));
  CHECK(mixed.dtype() == DType::u8);
  CHECK(mixed.to_vector() == std::vector<double>{0, 12, 254, 0, 12, 254});
}

TEST_CASE("mixing is a function of the batch and the rng") {
  const Batch batch = four_images();
  Rng a(9, 1), b(9, 1);
  const Batch first = mix(batch, {.classes = 3}, a), second = mix(batch, {.classes = 3}, b);
  CHECK(first.images.to_vector() == second.images.to_vector());
  CHECK(first.at("targets").to_vector() == second.at("targets").to_vector());
  Rng rng(0);
  const Batch plain = mix(batch, {.probability = 0, .smoothing = 0, .classes = 3}, rng);
  CHECK(plain.images.to_vector() == batch.images.to_vector());
  CHECK(plain.at("targets").to_vector() == std::vector<double>{0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0});
}

TEST_CASE("images that nobody else holds are mixed in their own memory") {
  const Batch kept = four_images();
  for (const MixMode mode : {MixMode::batch, MixMode::pair, MixMode::element}) {
    const MixOptions options{.classes = 3, .mode = mode};
    for (std::uint64_t stream = 0; stream < 8; ++stream) {  // mixup and cutmix, boxes that differ
      Rng a(9, stream), b(9, stream);
      Batch own = four_images();
      const std::byte* memory = own.images.raw();
      const Batch mixed = mix(std::move(own), options, a), copied = mix(kept, options, b);
      CHECK(mixed.images.raw() == memory);
      CHECK(mixed.images.to_vector() == copied.images.to_vector());
    }
  }
  CHECK(kept.images.to_vector() == four_images().images.to_vector());
}

TEST_CASE("mixing refuses odd batches, bad labels and bad options") {
  Rng rng(0);
  const Batch odd = {zeros({3, 3, 4, 4}), zeros({3}, {DType::i64, {}})};
  CHECK_THROWS_WITH_AS(
      (void)mix(odd, {}, rng),
      "mixup: got a batch of 3, expected an even number (sample i is mixed with sample B - 1 - i)",
      Error);
  CHECK_THROWS_WITH_AS((void)mix(four_images(), {.classes = 2}, rng),
                       "mixup: got label 2, expected 0 to 1", Error);
  CHECK_THROWS_WITH_AS((void)draw_mix({.mixup = -1}, 4, 4, rng),
                       "mixup: got alpha -1, expected 0 or more", Error);
  CHECK_THROWS_AS((void)draw_mix({.cutmix = NAN}, 4, 4, rng), Error);
  CHECK_THROWS_AS((void)draw_mix({.probability = 1.5}, 4, 4, rng), Error);
  CHECK_THROWS_AS((void)draw_mix({.smoothing = -0.1}, 4, 4, rng), Error);
  CHECK_THROWS_AS((void)draw_mix({.cutmix_minmax = std::array<double, 2>{0.8, 0.2}}, 4, 4, rng),
                  Error);
}

}  // namespace fovea
