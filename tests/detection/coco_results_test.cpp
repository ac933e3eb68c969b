// Detections written as COCO's results are read back as they were.
#include "models/detection/coco_results.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/rng.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

bool equal(const ScoredBox& a, const ScoredBox& b) {
  return a.image == b.image && a.category == b.category && a.x == b.x && a.y == b.y &&
         a.width == b.width && a.height == b.height && a.score == b.score;
}

std::string complaint(std::string_view text) {
  return message_of([&] { (void)parse_coco_results(text, "r.json"); });
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
  const std::vector<ScoredBox> read = parse_coco_results(format_coco_results(boxes), "results");
  REQUIRE(read.size() == boxes.size());
  for (std::size_t k = 0; k < boxes.size(); ++k) CHECK(equal(read[k], boxes[k]));
}

TEST_CASE("no detections are an empty list") {
  CHECK(parse_coco_results(format_coco_results({}), "results").empty());
  CHECK(parse_coco_results("[]", "results").empty());
}

TEST_CASE("results of other programs are read: members in any order, and more of them") {
  const std::vector<ScoredBox> read = parse_coco_results(
      R"([{"score": 1, "segmentation": {"counts": "abc", "size": [4, 5]}, "bbox": [1, 2.5, 3, 4],
           "image_id": 7.0, "category_id": 2, "area": [[1], null]}])",
      "results");
  REQUIRE(read.size() == 1);
  CHECK(equal(read[0], {7, 2, 1, 2.5, 3, 4, 1}));
}

TEST_CASE("numbers that JSON does not have are not written") {
  const std::vector<ScoredBox> boxes = {{7, 1, 0, 0, std::nan(""), 1, 1}};
  CHECK_THROWS_WITH_AS(
      (void)format_coco_results(boxes),
      "results: a detection of image 7 has the number nan, expected finite numbers", Error);
}

TEST_CASE("what is wrong with results is named, with its entry") {
  CHECK(complaint(R"({"images": []})") == "r.json: is an object, expected a list of objects");
  CHECK(complaint("3") == "r.json: got a single value, expected a list of objects");
  CHECK(complaint("[1]") == "r.json: entry 0: got 1, expected an object");
  CHECK(complaint(R"([{"image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4], "score": 1}, {}])") ==
        "r.json: entry 1: has no image_id");
  CHECK(complaint(R"([{"image_id": "000139"}])") ==
        "r.json: entry 0: image_id: got a string, expected a whole number");
  CHECK(complaint(R"([{"image_id": 1.5}])") ==
        "r.json: entry 0: image_id: got 1.5, expected a whole number");
  CHECK(complaint(R"([{"bbox": [1, 2, 3]}])") ==
        "r.json: entry 0: bbox: got 3 numbers, expected 4 numbers: x, y, width, height");
  CHECK(complaint(R"([{"bbox": [1, 2, 3, null]}])") ==
        "r.json: entry 0: bbox: got null, expected 4 numbers: x, y, width, height");
  CHECK(complaint(R"([{"score": true}])") ==
        "r.json: entry 0: score: got a truth value, expected a number");
  CHECK(complaint(R"([{"score": 1, "score": 2}])") == "r.json: entry 0: has score twice");
  CHECK(complaint(R"([{"score": 1e999}])").find("is too large") != std::string::npos);
  CHECK(complaint(R"([{"score": NaN}])").find("is not valid JSON at byte 12") != std::string::npos);
  CHECK(complaint(R"([{"score": 1)").find("the file may be cut or damaged") != std::string::npos);
  CHECK(complaint("").find("is not valid JSON") != std::string::npos);
  CHECK(complaint("[[]]") == "r.json: entry 0: got a list, expected an object");
  CHECK(
      complaint(R"([{"other": )" + std::string(100, '[')).find("nested more than 16 levels deep") !=
      std::string::npos);
}

}  // namespace fovea
