// DETR's sizes, by the rounding of the authors' code, and its crops, with boxes that follow.
#include "data/geometry/detr_resize.h"

#include <doctest/doctest.h>

#include <set>

#include "data/augment/training_pipeline.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/base/error.h"
#include "tests/support/drawn_boxes.h"

namespace fovea {
namespace {

const geometry::Resize& resize_of(const Geometry& move) { return std::get<geometry::Resize>(move); }

/// The sizes of the last moves of many draws.
std::set<std::int64_t> short_sides(ImageSize image, std::int64_t side) {
  std::set<std::int64_t> sides;
  Rng rng(1);
  for (int k = 0; k < 400; ++k) {
    const ImageSize size =
        resize_of(draw_detr_moves(image, side, Filter::bilinear, rng).back()).size;
    sides.insert(std::min(size.height, size.width));
  }
  return sides;
}

}  // namespace

TEST_CASE("the shorter side becomes the asked one and the longer one follows, rounded down") {
  CHECK(short_side_size({480, 640}, 800, 1333) == ImageSize{800, 1066});
  CHECK(short_side_size({640, 480}, 800, 1333) == ImageSize{1066, 800});
  CHECK(short_side_size({427, 640}, 800, 1333) == ImageSize{800, 1199});
  CHECK(short_side_size({100, 100}, 37, 0) == ImageSize{37, 37});
  CHECK(short_side_size({3, 1000}, 800, 0) == ImageSize{800, 266'666});
  CHECK_THROWS_AS((void)short_side_size({3, 3}, 0, 0), Error);
}

TEST_CASE("the longer side is limited: the shorter one is rounded to the nearest, half to even") {
  CHECK(short_side_size({375, 1000}, 800, 1333) == ImageSize{500, 1333});
  CHECK(short_side_size({1000, 375}, 800, 1333) == ImageSize{1333, 500});
  CHECK(short_side_size({200, 640}, 800, 1333) == ImageSize{417, 1334});  // 416.56
  CHECK(short_side_size({1, 8}, 10, 20) == ImageSize{2, 16});             // 2.5
  CHECK(short_side_size({1, 5000}, 800, 1333) == ImageSize{1, 5000});     // 0.27
}

TEST_CASE("DETR's evaluation has a shorter side of 800 and a longer one of at most 1333") {
  CHECK(resize_of(detr_moves({480, 640}, 800, Filter::bilinear).at(0)).size ==
        ImageSize{800, 1066});
  CHECK(resize_of(detr_moves({375, 1000}, 800, Filter::bilinear).at(0)).size ==
        ImageSize{500, 1333});
  CHECK(resize_of(detr_moves({48, 64}, 64, Filter::bilinear).at(0)).size == ImageSize{64, 85});
  CHECK(resize_of(detr_moves({48, 300}, 64, Filter::bilinear).at(0)).size == ImageSize{17, 106});
  const EvaluationTransform transform{
      {800, 800}, kCifarNormalization, {1, CropMode::detr, Filter::bilinear}};
  CHECK(prepare_for_evaluation(Image(30, 40), transform).size() == ImageSize{800, 1066});
}

TEST_CASE("a picture of which DETR's longest side leaves no shorter one is broken") {
  const char* const message =
      "is 2x30000 (height x width), too long for a longer side of 1333 pixels";
  CHECK_THROWS_WITH_AS((void)detr_moves({2, 30'000}, 800, Filter::bilinear), message, ImageError);
  CHECK(resize_of(detr_moves({4, 30'000}, 800, Filter::bilinear).at(0)).size == ImageSize{1, 7500});
}

TEST_CASE("DETR's training sizes are 480 to 800 in steps of 32, or scaled with the side") {
  const std::set<std::int64_t> usual = {480, 512, 544, 576, 608, 640, 672, 704, 736, 768, 800};
  CHECK(short_sides({480, 640}, 800) == usual);
  const std::set<std::int64_t> small = {38, 41, 44, 46, 49, 51, 54, 56, 59, 61, 64};
  CHECK(short_sides({64, 64}, 64) == small);
}

TEST_CASE("half of DETR's training images are parts: 400, 500 or 600, then sides of 384 to 600") {
  Rng rng(2);
  int parts = 0;
  std::set<std::int64_t> first, sides;
  for (int k = 0; k < 1000; ++k) {
    const std::vector<Geometry> moves = draw_detr_moves({480, 640}, 800, Filter::bilinear, rng);
    if (moves.size() == 1) continue;
    ++parts;
    REQUIRE(moves.size() == 3);
    const ImageSize whole = resize_of(moves[0]).size;
    first.insert(whole.height);
    const PixelBox box = std::get<geometry::Crop>(moves[1]).box;
    CHECK(box.top >= 0);
    CHECK(box.left >= 0);
    CHECK(box.bottom <= whole.height);
    CHECK(box.right <= whole.width);
    sides.insert(box.size().width);
    CHECK(box.size().height >= 384);
    CHECK(box.size().height <= 600);
    const ImageSize last = resize_of(moves[2]).size;
    CHECK(last == short_side_size(box.size(), std::min(last.height, last.width), 0));
  }
  CHECK(parts > 440);
  CHECK(parts < 560);
  CHECK(first == std::set<std::int64_t>{400, 500, 600});
  CHECK(*sides.begin() == 384);
  CHECK(*sides.rbegin() == 600);
  CHECK(sides.size() > 150);
}

TEST_CASE("an image smaller than DETR's parts is not padded") {
  Rng rng(3);
  for (int k = 0; k < 50; ++k)
    for (const Geometry& move : draw_detr_moves({1, 300}, 64, Filter::bilinear, rng))
      if (const auto* part = std::get_if<geometry::Crop>(&move)) CHECK(part->box.bottom <= 48);
}

TEST_CASE("boxes follow their objects through DETR's training pipeline") {
  AugmentOptions options;
  options.crop = TrainCrop::detr;
  options.size = {96, 96};
  options.filter = Filter::bilinear;
  const Pipeline pipeline = training_pipeline(options);
  const tests::DrawnBoxes drawn({.size = 200});
  int seen = 0;
  for (std::int64_t i = 0; i < drawn.size(); ++i) {
    Sample sample = drawn.get(i);
    for (std::size_t k = 0; k < sample.targets.boxes->size(); ++k)
      (*sample.targets.boxes)[k].label = static_cast<std::int64_t>(k);
    Rng rng(4, static_cast<std::uint64_t>(i));
    const Sample shown = pipeline.apply(std::move(sample), rng);
    for (const ObjectBox& box : *shown.targets.boxes) {
      const ObjectBox around = tests::DrawnBoxes::around(shown.image, box.label);
      if (around.width() == 0) continue;
      ++seen;
      CHECK(around.x0 >= box.x0 - 2);
      CHECK(around.y0 >= box.y0 - 2);
      CHECK(around.x1 <= box.x1 + 2);
      CHECK(around.y1 <= box.y1 + 2);
    }
  }
  CHECK(seen > 250);
}

}  // namespace fovea
