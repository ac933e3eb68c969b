// Detections written as COCO's results are read back as they were.
#include "models/detection/coco_results.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/rng.h"
#include "tests/support/coco_results_reader.h"

namespace fovea {
namespace {

bool equal(const ScoredBox& a, const ScoredBox& b) {
  return a.image == b.image && a.category == b.category && a.x == b.x && a.y == b.y &&
         a.width == b.width && a.height == b.height && a.score == b.score;
}

}  // namespace

TEST_CASE("results are read back equal, to the last bit") {
  std::vector<ScoredBox> boxes = {{397133, 44, 217.62, 240.54, 38.99, 57.75, 0.1},
                                  {1, 0, 0, -3, 1e-300, 1.0 / 3, 1},
                                  {-5, 90, 1e17, 12345678.9, 5, 6, 0}};
  Rng rng(3);
  for (int k = 0; k < 200; ++k) {
    const std::int64_t image = rng.below(1'000'000'000'000), category = rng.below(90);
    boxes.push_back({image, category, rng.normal() * 100, rng.normal(), rng.uniform(),
                     rng.uniform() * 640, static_cast<float>(rng.uniform())});
  }
  const std::vector<ScoredBox> read = parse_coco_results(format_coco_results(boxes));
  REQUIRE(read.size() == boxes.size());
  for (std::size_t k = 0; k < boxes.size(); ++k) CHECK(equal(read[k], boxes[k]));
}

TEST_CASE("no detections are an empty list") {
  CHECK(parse_coco_results(format_coco_results({})).empty());
}

TEST_CASE("numbers that JSON does not have are not written") {
  const std::vector<ScoredBox> boxes = {{7, 1, 0, 0, std::nan(""), 1, 1}};
  CHECK_THROWS_WITH_AS(
      (void)format_coco_results(boxes),
      "results: a detection of image 7 has the number nan, expected finite numbers", Error);
}

}  // namespace fovea
