// COCO's average precision on small sets, worked out by hand.
#include "models/detection/average_precision.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/errors.h"

namespace fovea {
namespace {

using doctest::Approx;
using tests::check_error;

using Truth = std::vector<TruthBox>;
using Detections = std::vector<ScoredBox>;

/// A square object of 40 x 40 pixels (medium) in image 1 at x.
TruthBox object(double x, std::int64_t category = 1, std::int64_t image = 1) {
  return {image, category, x, 10, 40, 40, 1600, false};
}
ScoredBox detection(double x, double score, std::int64_t category = 1, std::int64_t image = 1) {
  return {image, category, x, 10, 40, 40, score};
}

AveragePrecision evaluate(const Truth& truth, const Detections& detections,
                          const std::vector<std::int64_t>& categories = {1},
                          const std::vector<std::int64_t>& images = {1, 2}) {
  return average_precision(truth, detections, categories, images);
}

enum Number { kAp, kAp50, kAp75, kApSmall, kApMedium, kApLarge, kAr1, kAr10, kAr100, kArSmall };

}  // namespace

TEST_CASE("detections that equal the objects have AP and AR 1, and absent sizes -1") {
  const auto n =
      evaluate({object(0), object(100)}, {detection(0, 0.3), detection(100, 0.9)}).numbers;
  CHECK(n[kAp] == Approx(1).epsilon(1e-12));
  CHECK(n[kApMedium] == Approx(1).epsilon(1e-12));
  CHECK(n[kApSmall] == -1);
  CHECK(n[kApLarge] == -1);
  CHECK(n[kArSmall] == -1);
  CHECK(n[kAr1] == 0.5);  // two objects in one image, one detection
  CHECK(n[kAr100] == 1);
}

TEST_CASE("without objects all numbers are -1; without detections they are 0") {
  for (const double number : evaluate({}, {detection(0, 1)}).numbers) CHECK(number == -1);
  const auto n = evaluate({object(0)}, {}).numbers;
  CHECK(n[kAp] == 0);
  CHECK(n[kAr100] == 0);
  CHECK(n[kApSmall] == -1);
}

TEST_CASE("precision at a recall is the best at that recall or beyond") {
  // By score: right, wrong, right. Precision 1, 1/2, 2/3 at recall 1/2, 1/2, 1.
  const AveragePrecision result = evaluate(
      {object(0), object(100)}, {detection(0, 0.9), detection(300, 0.8), detection(100, 0.7)});
  const auto& curve = result.categories[0].precision[0];
  CHECK(curve[0] == Approx(1).epsilon(1e-12));
  CHECK(curve[50] == Approx(1).epsilon(1e-12));
  CHECK(curve[51] == Approx(2 / 3.0).epsilon(1e-12));
  CHECK(curve[100] == Approx(2 / 3.0).epsilon(1e-12));
  CHECK(result.numbers[kAp50] == Approx((51 + 50 * 2 / 3.0) / 101).epsilon(1e-12));
}

TEST_CASE("a threshold is reached by an IoU that equals it") {
  // Shifted by 40/3: the intersection is 2/3 of a box, the IoU 1/2.
  const auto half = evaluate({{1, 1, 0, 0, 30, 30, 900, false}}, {{1, 1, 10, 0, 30, 30, 1}});
  CHECK(half.categories[0].ap50[0] == Approx(1).epsilon(1e-12));
  CHECK(half.numbers[kAp] == Approx(0.1).epsilon(1e-12));  // at one of ten thresholds
}

TEST_CASE("an object is found once; a second detection of it is wrong") {
  const AveragePrecision result = evaluate({object(0)}, {detection(0, 0.9), detection(1, 0.8)});
  CHECK(result.numbers[kAp50] == Approx(1).epsilon(1e-12));  // recall 1 comes first
  const AveragePrecision swapped = evaluate({object(0)}, {detection(20, 0.9), detection(0, 0.8)});
  CHECK(swapped.numbers[kAp50] == Approx(0.5).epsilon(1e-12));
}

TEST_CASE("a detection takes the object of highest IoU, and of equal ones the last") {
  // Both objects overlap the first detection equally; the second detection equals the first object.
  const Truth truth{object(0), object(10)};
  const AveragePrecision result = evaluate(truth, {detection(5, 0.9), detection(0, 0.8)});
  CHECK(result.categories[0].ap50[0] == Approx(1).epsilon(1e-12));
  const AveragePrecision other = evaluate(truth, {detection(5, 0.9), detection(10, 0.8)});
  // At 0.65 only detection 0 and, if it is free, object 1 fit.
  CHECK(other.categories[0].ap75[0] < result.categories[0].ap75[0]);
}

TEST_CASE("detections of a crowd count neither as right nor as wrong, as many as there are") {
  TruthBox crowd{1, 1, 100, 0, 200, 200, 40000, true};
  const AveragePrecision result =
      evaluate({object(0), crowd},
               {{1, 1, 120, 20, 50, 50, 0.9}, {1, 1, 150, 90, 30, 50, 0.8}, detection(0, 0.7)});
  CHECK(result.numbers[kAp] == Approx(1).epsilon(1e-12));
  CHECK(result.categories[0].objects == 1);
  for (const double number : evaluate({crowd}, {detection(120, 1)}).numbers) CHECK(number == -1);
}

TEST_CASE("areas on a bound belong to both sizes; unmatched detections to the size of their box") {
  const Truth truth{{1, 1, 0, 0, 40, 40, 1024, false}};
  const auto n = evaluate(truth, {{1, 1, 0, 0, 40, 40, 0.5}}).numbers;
  CHECK(n[kApSmall] == Approx(1).epsilon(1e-12));
  CHECK(n[kApMedium] == Approx(1).epsilon(1e-12));
  // A large wrong detection of higher score harms all sizes together and large ones alone.
  const auto wrong =
      evaluate(truth, {{1, 1, 200, 0, 400, 400, 0.9}, {1, 1, 0, 0, 40, 40, 0.5}}).numbers;
  CHECK(wrong[kAp] == Approx(0.5).epsilon(1e-12));
  CHECK(wrong[kApSmall] == Approx(1).epsilon(1e-12));
}

TEST_CASE("only the best hundred detections of a category in an image count") {
  Detections many(100, detection(300, 0.5));
  many.push_back(detection(0, 0.4));
  CHECK(evaluate({object(0)}, many).numbers[kAr100] == 0);
  many.back().score = 0.6;
  CHECK(evaluate({object(0)}, many).numbers[kAr1] == 1);
  many.back() = detection(0, 0.4, 1, 2);  // another image
  CHECK(evaluate({object(0, 1, 2)}, many).numbers[kAr100] == 1);
}

TEST_CASE("of equal scores the image with the smaller ID comes first") {
  const Truth truth{object(0, 1, 2)};
  const Detections detections{detection(0, 0.5, 1, 2), detection(300, 0.5, 1, 1)};
  CHECK(evaluate(truth, detections, {1}, {2, 1}).numbers[kAp50] == Approx(0.5).epsilon(1e-12));
}

TEST_CASE("categories without objects are left out of the mean, and others are not") {
  const Truth truth{object(0, 1), object(0, 2)};
  const AveragePrecision result =
      evaluate(truth, {detection(0, 0.5, 1), detection(0, 0.9, 3)}, {3, 2, 1});
  CHECK(result.numbers[kAp] == Approx(0.5).epsilon(1e-12));
  CHECK(result.categories[0].category == 3);
  CHECK(result.categories[0].ap[0] == -1);
  CHECK(result.categories[1].ap[0] == 0);
  CHECK(result.categories[2].ap[0] == Approx(1).epsilon(1e-12));
}

TEST_CASE("boxes of images and categories that are not evaluated are left out") {
  const Truth truth{object(0), object(50, 9), object(50, 1, 77)};
  const auto n = evaluate(truth, {detection(0, 0.5), detection(70, 0.9, 1, 78)}).numbers;
  CHECK(n[kAp] == Approx(1).epsilon(1e-12));
}

TEST_CASE("invalid input is an error, which says where") {
  check_error([] { (void)evaluate({object(NAN)}, {}); }, "object of image 1 and category 1");
  check_error([] { (void)evaluate({}, {detection(0, NAN)}); },
              "detection in image 1 of category 1");
  check_error([] { (void)evaluate({}, {}, {1, 1}); }, "category 1 is given twice");
  check_error([] { (void)evaluate({}, {}, {1}, {4, 4}); }, "image 4 is given twice");
}

}  // namespace fovea
