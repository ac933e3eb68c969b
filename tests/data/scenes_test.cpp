// Drawn scenes: the same picture and boxes for ever, boxes that are tight, objects that show.
#include "data/sources/drawn/scenes.h"

#include <doctest/doctest.h>

#include <array>
#include <set>

#include "data/sources/subset.h"
#include "engine/base/error.h"
#include "tests/data/hash.h"

namespace fovea {
namespace {

drawing::Scene scene(std::uint64_t number, std::int64_t side = 64) {
  Rng rng(5, number);
  return drawing::lay_out_scene(side, rng);
}

/// The pixels that the form covers by half or more, found by looking at the whole image.
PixelBox outline_of(const drawing::ClassForm& form, ImageSize size) {
  PixelBox box{size.height, 0, size.width, 0};
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      if (form.cover(static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5) < 0.5) continue;
      box = {std::min(box.top, y), std::max(box.bottom, y + 1), std::min(box.left, x),
             std::max(box.right, x + 1)};
    }
  }
  return box;
}

}  // namespace

TEST_CASE("scenes are pinned to the bit") {
  const Scenes train(Split::train), test(Split::test), other(Split::train, {.seed = 1});
  const std::uint64_t expected[] = {0x03c0c2cc896c5263, 0xb24728b9154dfe4b, 0x45c3b5f3d7a05f2a,
                                    0x8fd7e3545ca6dfef};
  CHECK(tests::hash_of(train.get(0).image) == expected[0]);
  CHECK(tests::hash_of(train.get(16'383).image) == expected[1]);
  CHECK(tests::hash_of(test.get(5).image) == expected[2]);
  CHECK(tests::hash_of(other.get(9).image) == expected[3]);
}

TEST_CASE("a scene depends on seed, split and index alone") {
  const Scenes large(Split::train), small(Split::train, {.train_size = 50});
  CHECK(large.get(42).image == small.get(42).image);
  CHECK(large.annotations(42) == small.annotations(42));
  CHECK(large.annotations(42) != Scenes(Split::test).annotations(42));
  CHECK(large.annotations(42) != Scenes(Split::train, {.seed = 1}).annotations(42));
  CHECK(large.annotations(42) != large.annotations(43));
}

TEST_CASE("the box of an object in a scene is tight around its whole outline") {
  for (std::uint64_t number = 0; number < 60; ++number) {
    const drawing::Scene drawn = scene(number);
    for (const drawing::SceneObject& object : drawn.objects) {
      const PixelBox seen = outline_of(object.form, drawn.size);
      CHECK(object.box.top == seen.top);
      CHECK(object.box.bottom == seen.bottom);
      CHECK(object.box.left == seen.left);
      CHECK(object.box.right == seen.right);
    }
  }
}

TEST_CASE("two fifths of each object in a scene are visible") {
  int hidden = 0;
  for (std::uint64_t number = 0; number < 200; ++number) {
    const drawing::Scene drawn = scene(number);
    std::vector<std::int64_t> owner(static_cast<std::size_t>(drawn.size.height * drawn.size.width),
                                    -1);
    for (std::size_t k = 0; k < drawn.objects.size(); ++k)
      for (const drawing::Spot& spot : drawn.objects[k].spots)
        if (spot.is_object())
          owner[spot.y * drawn.size.width + spot.x] = static_cast<std::int64_t>(k);
    for (std::size_t k = 0; k < drawn.objects.size(); ++k) {
      const auto visible = std::count(owner.begin(), owner.end(), static_cast<std::int64_t>(k));
      const auto whole = static_cast<double>(drawn.objects[k].pixels);
      CHECK(static_cast<double>(visible) >= drawing::kMinVisible * whole);
      CHECK(visible == drawn.objects[k].visible_pixels);
      if (visible < drawn.objects[k].pixels) ++hidden;
    }
  }
  CHECK(hidden > 100);  // occlusion is common
}

TEST_CASE("scenes differ in size, in the number of objects and in their sides") {
  const Scenes train(Split::train);
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  std::array<int, drawing::kMaxObjects + 1> counts{};
  std::array<int, drawing::ClassForm::kShapes> labels{};
  double longest = 0, shortest = 64;
  for (std::int64_t i = 0; i < 600; ++i) {
    const ImageSize size = train.stored_size(i);
    sizes.emplace(size.height, size.width);
    const std::vector<Annotation> all = train.annotations(i);
    ++counts[all.size()];
    for (const Annotation& object : all) {
      ++labels[static_cast<std::size_t>(object.label)];
      longest = std::max(longest, std::max(object.width, object.height));
      shortest = std::min(shortest, std::max(object.width, object.height));
    }
  }
  CHECK(sizes == std::set<std::pair<std::int64_t, std::int64_t>>{{48, 64}, {64, 64}, {64, 80}});
  CHECK(counts[0] == 0);
  for (std::size_t n = 1; n < counts.size(); ++n) CHECK(counts[n] > 50);
  for (const int count : labels) CHECK(count > 200);
  CHECK(longest > 24);
  CHECK(longest <= 32);
  CHECK(shortest < 12);
}

TEST_CASE("a scene's sample has its stated size and the boxes of its annotations") {
  const Scenes test(Split::test, {.side = 96});
  for (std::int64_t i = 0; i < 20; ++i) {
    const Sample sample = test.get(i);
    CHECK(sample.image.size() == test.stored_size(i));
    const std::vector<Annotation> all = test.annotations(i);
    REQUIRE(sample.targets.boxes->size() == all.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
      const ObjectBox& box = (*sample.targets.boxes)[k];
      CHECK(box.x0 == all[k].x);
      CHECK(box.y1 == all[k].y + all[k].height);
      CHECK(box.label == all[k].label);
    }
  }
}

TEST_CASE("objects keep their side relative to the scene's") {
  double sum = 0, larger = 0;
  int count = 0, larger_count = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    for (const auto& object : scene(number).objects) sum += std::sqrt(object.pixels), ++count;
    for (const auto& object : scene(number, 128).objects)
      larger += std::sqrt(object.pixels), ++larger_count;
  }
  CHECK(larger / larger_count == doctest::Approx(2 * sum / count).epsilon(0.1));
}

TEST_CASE("scenes refuse bad sizes and indices") {
  CHECK_THROWS_WITH_AS(Scenes(Split::test, {.test_size = 0}),
                       "scenes: got a size of 0, expected 1 or more", Error);
  CHECK_THROWS_WITH_AS(Scenes(Split::test, {.side = 8}),
                       "scenes: got a side of 8 pixels, expected 32 to 1024", Error);
  CHECK_THROWS_WITH_AS((void)Scenes(Split::test).get(1024),
                       "scenes: got index 1024, expected 0 to 1023", Error);
}

TEST_CASE("shares of a data set with boxes keep the boxes") {
  const auto scenes = std::make_shared<Scenes>(Split::train, SceneOptions{.train_size = 40});
  const auto part = require_boxes(select(scenes, {.fraction = 0.25}), "train_detection");
  REQUIRE(part->size() == 10);
  bool found = false;
  for (std::int64_t i = 0; i < 40; ++i) {
    if (scenes->image_id(i) != part->image_id(3)) continue;
    found = part->annotations(3) == scenes->annotations(i);
  }
  CHECK(found);
  const auto held = require_boxes(hold_out(scenes, {.fraction = 0.2}, Split::test), "x");
  CHECK(held->size() == 8);
  CHECK(held->get(7).targets.boxes->size() == held->annotations(7).size());
  CHECK_THROWS_WITH_AS((void)held->image_id(8), "subset: got index 8, expected 0 to 7", Error);
  CHECK_THROWS_WITH_AS((void)select(scenes, {.classes = "disc"}),
                       "--classes: selects images by their labels, but the data set has boxes; "
                       "expected no --classes with it",
                       Error);
}

TEST_CASE("a data set without boxes is no set for a detector") {
  CHECK_THROWS_WITH_AS(
      (void)require_boxes(open_dataset({}, Split::test), "train_detection"),
      "train_detection: the data set has labels but no boxes, expected --dataset scenes, coco or "
      "voc",
      Error);
  CHECK(require_boxes(open_dataset({.name = "scenes"}, Split::test), "x")->size() == 1024);
}

}  // namespace fovea
