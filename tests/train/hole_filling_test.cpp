// Filling holes by what is visible around them.
#include "train/tasks/hole_filling.h"

#include <doctest/doctest.h>

#include <vector>

#include "ops/view.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

/// An image of one channel and one-pixel patches, with holes where `hidden` is 1.
std::vector<double> filled(const Shape& shape, const std::vector<double>& values,
                           const std::vector<double>& hidden) {
  const Tensor image = ops::reshape(from_values(shape, values), {1, 1, shape[0], shape[1]});
  const Tensor mask = from_values({1, shape[0] * shape[1]}, hidden);
  return fill_holes(image, mask, 1).to_vector();
}

}  // namespace

TEST_CASE("holes are filled by what is seen in eight directions, by the square of its distance") {
  CHECK(filled({1, 4}, {1, 0, 0, 4}, {0, 1, 1, 0}) ==
        std::vector<double>{1, static_cast<float>((1 + 4 / 4.0) / 1.25),
                            static_cast<float>((1 / 4.0 + 4) / 1.25), 4});
  // (1, 1) sees 2 above at distance 1, and 5 across the corner at sqrt 2.
  CHECK(filled({2, 2}, {9, 2, 5, 0}, {1, 0, 0, 1})[3] == doctest::Approx(3.5));
  CHECK(filled({2, 3}, {6, 0, 0, 0, 0, 0}, {0, 1, 1, 1, 1, 1})[4] == doctest::Approx(6));
  // (1, 2) of a knight's move sees nothing: the mean of what is visible anywhere.
  CHECK(filled({2, 3}, {6, 0, 0, 0, 0, 0}, {0, 1, 1, 1, 1, 1})[5] == doctest::Approx(6));
  CHECK(filled({2, 4}, {8, 4, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 1, 1, 1, 1})[7] ==
        doctest::Approx(6));
  CHECK(contains(message_of([] { (void)filled({1, 2}, {1, 2}, {1, 1}); }), "no pixel"));
  CHECK(contains(message_of([] {
                   (void)fill_holes(zeros({1, 1, 2, 2}), zeros({1, 3}), 1);
                 }),
                 "expected f32 [1, 4]"));
}

TEST_CASE("each of the eight directions counts, a diagonal one half") {
  // The hole in the middle of 3 x 3 sees all the others: weights 4 * 1 + 4 / 2.
  for (std::size_t seen = 0; seen < 9; ++seen) {
    if (seen == 4) continue;
    CAPTURE(seen);
    std::vector<double> values(9), hidden(9);
    values[seen] = 12;
    hidden[4] = 1;
    CHECK(filled({3, 3}, values, hidden)[4] == doctest::Approx(seen % 2 == 1 ? 2 : 1));
  }
}

TEST_CASE("channels are filled apart, and what is visible stays to the bit") {
  // Two channels of two patches of 2 x 2; the right one is hidden.
  const Tensor image =
      from_values({1, 2, 2, 4}, {1, 2, 9, 9, 3, 4, 9, 9, -1, -2, 9, 9, -3, -4, 9, 9});
  const std::vector<double> y = fill_holes(image, from_values({1, 2}, {0, 1}), 2).to_vector();
  // The pixel beside the patch sees 2 to its left and 4 across the corner, at the square 2.
  CHECK(y[2] == doctest::Approx((2 + 4 / 2.0) / 1.5));
  CHECK(y[8 + 2] == doctest::Approx(-(2 + 4 / 2.0) / 1.5));
  CHECK(y[7] == doctest::Approx(4));  // sees its row alone
  for (const std::size_t i : {0, 1, 4, 5}) {
    CHECK(y[i] == image.at(static_cast<std::int64_t>(i)));
    CHECK(y[8 + i] == image.at(static_cast<std::int64_t>(8 + i)));
  }
}

TEST_CASE("images that are not made of whole patches are refused") {
  const Tensor images = zeros({1, 1, 5, 4});
  for (const std::int64_t patch : {0, 2, 3}) {
    CHECK_THROWS_AS(static_cast<void>(fill_holes(images, zeros({1, 4}), patch)), Error);
  }
}

}  // namespace fovea
