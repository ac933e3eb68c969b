// Values of pixels against values worked out by hand, and what finish_pixels() refuses. Loaders and
// GPUs are compared in tests/train/raw_pixels_test.cpp and tests/cuda/pixels_test.cpp.
#include "ops/pixels.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/base/error.h"

namespace fovea::ops {
namespace {

constexpr TensorOptions kWhole = {DType::i64, {}};

/// Two images of 2 x 2: levels 0 to 3 in each channel of the first, 4 to 7 of the second.
Tensor two_images() {
  std::vector<double> levels;
  for (int image = 0; image < 2; ++image) {
    for (int channel = 0; channel < 3; ++channel) {
      for (int pixel = 0; pixel < 4; ++pixel) levels.push_back(4 * image + pixel);
    }
  }
  return from_values({2, 3, 2, 2}, levels, {DType::u8, {}});
}

/// The value of a level is ten times as large, plus 100 in the second channel and 200 in the third.
PixelFinish plain_finish() {
  std::vector<double> levels;
  for (int channel = 0; channel < 3; ++channel) {
    for (int level = 0; level < 256; ++level) levels.push_back(100 * channel + 10 * level);
  }
  return {from_values({3, 256}, levels), zeros({2, 1, 6}, kWhole), zeros({0})};
}

std::vector<double> values_of(const PixelFinish& finish) {
  return finish_pixels(two_images(), finish).to_vector();
}

}  // namespace

TEST_CASE("each channel's levels are looked up in its row") {
  CHECK(values_of(plain_finish()) == std::vector<double>{0,   10,  20,  30,  100, 110, 120, 130,
                                                         200, 210, 220, 230, 40,  50,  60,  70,
                                                         140, 150, 160, 170, 240, 250, 260, 270});
}

TEST_CASE("boxes are erased in order, with a colour or with a value for each pixel") {
  PixelFinish finish = plain_finish();
  finish.erased =
      from_values({2, 2, 6}, {0, 2, 0, 2, 0, 0, 1, 2, 0, 2, 3, 1,   // all -1, then the lower row
                              0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 9, 0},  // none, then one pixel
                  kWhole);
  finish.fills = from_values({12}, {-1, -2, -3, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(values_of(finish) == std::vector<double>{-1,  -1, 1,   2,   -2,  -2, 3,   4,
                                                 -3,  -3, 5,   6,   40,  7,  60,  70,
                                                 140, 8,  160, 170, 240, 9,  260, 270});
}

TEST_CASE("images are mixed with what the other one was before, inside of a box") {
  PixelFinish finish = plain_finish();
  finish.erased = from_values({2, 1, 6}, {0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, kWhole);
  finish.fills = from_values({3}, {1, 2, 3});
  finish.mixed = from_values({2, 5}, {0, 2, 0, 2, 0, 0, 2, 0, 1, 1}, kWhole);
  finish.weights = from_values({2, 2}, {0.75, 0.25, 7, 7});
  CHECK(values_of(finish) == std::vector<double>{0.75 + 10, 20,  30,        40,  1.5 + 35, 120,
                                                 130,       140, 2.25 + 60, 220, 230,      240,
                                                 1,         50,  20,        70,  2,        150,
                                                 120,       170, 3,         250, 220,      270});
}

TEST_CASE("what is left to do must fit the pixels") {
  const auto refused = [](const auto& change, const std::string& message) {
    PixelFinish finish = plain_finish();
    change(finish);
    CHECK_THROWS_WITH_AS((void)finish_pixels(two_images(), finish), message.c_str(), Error);
  };
  CHECK_THROWS_WITH_AS((void)finish_pixels(zeros({2, 1, 2, 2}, {DType::u8, {}}), plain_finish()),
                       "finish_pixels: got pixels [2, 1, 2, 2], expected [B, 3, H, W]", Error);
  CHECK_THROWS_WITH_AS(
      (void)finish_pixels(zeros({2, 3, 2, 2}), plain_finish()),
      "finish_pixels: got pixels f32 [2, 3, 2, 2], expected packed u8 [2, 3, 2, 2]", Error);
  refused([](PixelFinish& f) { f.levels = {}; },
          "finish_pixels: got levels undefined [], expected packed f32 [3, 256]");
  refused(
      [](PixelFinish& f) {
        f.erased = zeros({3, 1, 6}, kWhole);
      },
      "finish_pixels: got boxes i64 [3, 1, 6], expected packed i64 [2, 1, 6]");
  refused([](PixelFinish& f) { f.erased = {}; },
          "finish_pixels: got no boxes, expected i64 [B, M, 6]");
  refused([](PixelFinish& f) { f.fills = {}; }, "finish_pixels: got no fills, expected f32 [F]");
  refused(
      [](PixelFinish& f) {
        f.mixed = zeros({2, 5}, kWhole);
      },
      "finish_pixels: got weights undefined [], expected packed f32 [2, 2]");
  PixelFinish odd = plain_finish();
  odd.erased = zeros({1, 1, 6}, kWhole);
  odd.mixed = zeros({1, 5}, kWhole);
  odd.weights = zeros({1, 2});
  CHECK_THROWS_WITH_AS((void)finish_pixels(zeros({1, 3, 2, 2}, {DType::u8, {}}), odd),
                       "finish_pixels: got 1 images to mix, expected an even number (image b is "
                       "mixed with image B - 1 - b)",
                       Error);
}

}  // namespace fovea::ops
