// Boxes and dense maps follow the pixels of their image, through every kind of geometry.
#include "data/geometry/geometry.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <cmath>

#include "data/augment/policy.h"
#include "data/augment/training_pipeline.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/base/error.h"
#include "tests/support/drawn_boxes.h"
#include "tests/support/drawn_depth.h"

namespace fovea {
namespace {

using tests::DrawnBoxes;
using tests::DrawnDepth;

constexpr ImageSize kSize{20, 30};
constexpr ObjectBox kBox{4, 6, 10, 8, 3};
const Sampling kNearest = {Filter::nearest, {}};

/// A drawn sample whose boxes say which object they are around: 2 k + class.
struct Objects {
  Sample sample;

  explicit Objects(Sample drawn) : sample(std::move(drawn)) {
    for (std::size_t k = 0; k < sample.targets.boxes->size(); ++k)
      (*sample.targets.boxes)[k].label += static_cast<std::int64_t>(2 * k);
  }
};

/// A disc that is cut off fills its box no more.
bool fills(const ObjectBox& box, const Image& image) {
  const auto width = static_cast<float>(image.width), height = static_cast<float>(image.height);
  const bool whole = box.x0 > 0 && box.y0 > 0 && box.x1 < width && box.y1 < height;
  return box.label % 2 == 0 || whole;
}

/// Every box that is left lies around its object: `slack` pixels more at most where it is tight;
/// objects whose boxes are gone show next to nothing.
void check_objects(const Sample& sample, std::size_t objects, bool tight, float slack) {
  std::vector<bool> kept(objects);
  for (const ObjectBox& box : *sample.targets.boxes) {
    kept[static_cast<std::size_t>(box.label / 2)] = true;
    const ObjectBox seen = DrawnBoxes::around(sample.image, box.label / 2);
    if (seen.width() == 0) continue;
    CAPTURE(box.x0);
    CAPTURE(seen.x0);
    CHECK(box.x0 >= 0);
    CHECK(box.y1 <= static_cast<float>(sample.image.height));
    CHECK(seen.x0 >= box.x0 - slack);
    CHECK(seen.y0 >= box.y0 - slack);
    CHECK(seen.x1 <= box.x1 + slack);
    CHECK(seen.y1 <= box.y1 + slack);
    if (!tight || !fills(box, sample.image)) continue;
    CHECK(seen.x0 <= box.x0 + slack);
    CHECK(seen.y0 <= box.y0 + slack);
    CHECK(seen.x1 >= box.x1 - slack);
    CHECK(seen.y1 >= box.y1 - slack);
  }
  for (std::size_t k = 0; k < objects; ++k) {
    if (kept[k]) continue;
    const ObjectBox seen = DrawnBoxes::around(sample.image, static_cast<std::int64_t>(k));
    CHECK(std::min(seen.width(), seen.height()) <= kMinBoxSide + slack);
  }
}

/// The drawn objects through a pipeline, many times over.
void check_pipeline(const Pipeline& pipeline, bool tight, float slack) {
  const DrawnBoxes drawn;
  for (std::int64_t i = 0; i < drawn.size(); ++i) {
    CAPTURE(i);
    Objects objects(drawn.get(i));
    const std::size_t count = objects.sample.targets.boxes->size();
    Rng rng(17, static_cast<std::uint64_t>(i));
    if (pipeline.choose_box) {
      const geometry::Crop part{pipeline.choose_box(objects.sample.image.size(), rng)};
      objects.sample = moved(std::move(objects.sample), part);
    }
    const Sample shown = pipeline.apply(std::move(objects.sample), rng);
    check_objects(shown, count, tight, slack);
  }
}

AugmentOptions plain_options() {
  AugmentOptions options;
  options.size = {48, 56};
  options.vertical_flip = 0.5;
  options.range = {0.3, 1, 0.7, 1.4};
  return options;
}

const Image& map_of(const Sample& sample, std::size_t map = 0) {
  return sample.targets.maps.at(map).values;
}

}  // namespace

TEST_CASE("a box moves as its geometry says") {
  CHECK(moved(kBox, geometry::Crop{{5, 15, 2, 12}}, kSize) == ObjectBox{2, 1, 8, 3, 3});
  CHECK(moved(kBox, geometry::Resize{{40, 15}}, kSize) == ObjectBox{2, 12, 5, 16, 3});
  CHECK(moved(kBox, geometry::Flip{}, kSize) == ObjectBox{20, 6, 26, 8, 3});
  CHECK(moved(kBox, geometry::Flip{.vertical = true}, kSize) == ObjectBox{4, 12, 10, 14, 3});
  CHECK(moved(kBox, geometry::Turn{2}, kSize) == ObjectBox{20, 12, 26, 14, 3});
  const ImageSize square{20, 20};
  CHECK(moved(kBox, geometry::Turn{1}, square) == ObjectBox{6, 10, 8, 16, 3});
  CHECK(moved(kBox, geometry::Turn{3}, square) == ObjectBox{12, 4, 14, 10, 3});
  CHECK(moved(kBox, translation(1, -2, kNearest), kSize) == ObjectBox{3, 8, 9, 10, 3});
  // Row y is read from y / 2 further right: what stands at (x, y) comes to (x - y / 2, y).
  CHECK(moved(kBox, shear_x(0.5, kNearest), kSize) == ObjectBox{0, 6, 7, 8, 3});
  CHECK(moved(kBox, shear_y(0.5, kNearest), kSize) == ObjectBox{4, 1, 10, 6, 3});
  const ObjectBox line = moved(kBox, geometry::AffineWarp{{1, 1, 0, 1, 1, 0}, kNearest}, kSize);
  CHECK(line.width() == 0);
}

TEST_CASE("what a rotation bounds are the four corners") {
  const ObjectBox box = moved({8, 8, 12, 12, 0}, rotation({20, 20}, 45, kNearest), {20, 20});
  const float half = 2 * std::sqrt(2.0F);
  CHECK(box.x0 == doctest::Approx(10 - half));
  CHECK(box.y1 == doctest::Approx(10 + half));
}

TEST_CASE("boxes are cut off at the edges, and dropped where less than a pixel is left") {
  ImageTargets targets;
  targets.boxes = {{0, 0, 6, 6, 1}, {9, 0, 12, 6, 2}, {2, 2, 2.5F, 8, 3}};
  const ImageTargets part = moved(targets, geometry::Crop{{1, 9, 2, 10}}, kSize);
  REQUIRE(part.boxes);
  CHECK(*part.boxes == std::vector<ObjectBox>{{0, 0, 4, 5, 1}, {7, 0, 8, 5, 2}});
  const ImageTargets none = moved(targets, geometry::Crop{{10, 18, 12, 20}}, kSize);
  REQUIRE(none.boxes);  // an image without objects, not a data set without boxes
  CHECK(none.boxes->empty());
}

TEST_CASE("the smallest box around what is drawn is its box") {
  const DrawnBoxes drawn;
  std::int64_t empty = 0;
  for (std::int64_t i = 0; i < drawn.size(); ++i) {
    const Objects objects(drawn.get(i));
    empty += objects.sample.targets.boxes->empty() ? 1 : 0;
    check_objects(objects.sample, objects.sample.targets.boxes->size(), /*tight=*/true, 0);
  }
  CHECK(empty == drawn.size() / 7);
}

TEST_CASE("objects stay in their boxes through crops, flips and resizes") {
  AugmentOptions options = plain_options();
  options.filter = Filter::bilinear;
  options.range.ratio_low = options.range.ratio_high = 1;  // keep_ratio never pads by reflection
  for (const TrainCrop crop : {TrainCrop::pad, TrainCrop::resized, TrainCrop::keep_ratio_center,
                               TrainCrop::keep_ratio_random}) {
    CAPTURE(static_cast<int>(crop));
    options.crop = crop;
    check_pipeline(training_pipeline(options), /*tight=*/true, 1.5F);
  }
}

TEST_CASE("objects stay in their boxes in every mode of evaluation") {
  for (const CropMode mode : {CropMode::center, CropMode::squash, CropMode::border}) {
    EvaluationTransform transform;
    transform.size = {48, 40};
    transform.crop.mode = mode;
    transform.crop.filter = Filter::bilinear;
    check_pipeline(evaluation_pipeline(transform), /*tight=*/true, 1.5F);
  }
}

TEST_CASE("objects stay in their boxes through turns, shears and shifts") {
  AugmentOptions options = plain_options();
  options.crop_padding = 0;
  for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic}) {
    for (const AugmentKind kind : {AugmentKind::rotate, AugmentKind::shear_x, AugmentKind::shear_y,
                                   AugmentKind::translate_x, AugmentKind::translate_y_rel}) {
      CAPTURE(name_of(kind));
      Pipeline pipeline = training_pipeline(options);
      AugmentSettings settings;
      settings.filter = filter;
      settings.fill = {30, 30, 30};
      settings.translate_const = 20;
      const RandAugment one{.kinds = {kind}, .layers = 1, .probability = 1, .settings = settings};
      pipeline.variations.emplace_back(one);
      const bool shifts = kind == AugmentKind::translate_x || kind == AugmentKind::translate_y_rel;
      check_pipeline(pipeline, /*tight=*/shifts, 1.5F);
    }
  }
}

TEST_CASE("colours move the image alone") {
  AugmentOptions options;
  options.crop_padding = 0;
  options.flip = 0;
  options.jitter = {0.4, 0.4, 0.4, 0.1};
  options.grayscale = options.blur = 0.5;
  const Pipeline pipeline = training_pipeline(options);
  const RandAugment colors{.kinds = {AugmentKind::solarize, AugmentKind::invert,
                                     AugmentKind::equalize, AugmentKind::sharpness},
                           .probability = 1,
                           .settings = {}};
  Rng rng(3);
  for (std::int64_t i = 0; i < 8; ++i) {
    const Sample boxes = DrawnBoxes().get(i), depth = DrawnDepth().get(i);
    CHECK(pipeline.apply(boxes, rng).targets == boxes.targets);
    CHECK(colors(boxes, rng).targets == boxes.targets);
    const Sample shown = pipeline.apply(depth, rng);
    CHECK(shown.targets == depth.targets);
    CHECK(shown.image != depth.image);
  }
}

TEST_CASE("AugMix refuses what it cannot move: it mixes views") {
  Rng rng(1);
  const AugmentPolicy policy = parse_augment_policy("augmix", {});
  CHECK_THROWS_WITH_AS((void)apply(policy, DrawnBoxes().get(0), rng),
                       "augmix: got boxes or dense maps, expected images only: the mixed views "
                       "place them differently",
                       Error);
}

TEST_CASE("a dense map is the map of the moved image: exactly through crops and flips") {
  const DrawnDepth drawn({.image = {24, 32}});
  for (std::int64_t i = 0; i < 8; ++i) {
    const Sample whole = drawn.get(i);
    const Sample part = moved(whole, geometry::Crop{{-3, 20, 5, 40}});
    const Sample mirrored = moved(part, geometry::Flip{});
    REQUIRE(map_of(mirrored).size() == ImageSize{23, 35});
    for (std::int64_t y = 0; y < 23; ++y) {
      for (std::int64_t x = 0; x < 35; ++x) {
        const std::int64_t from_y = y - 3, from_x = 34 - x + 5;
        const bool inside = from_y >= 0 && from_x < 32;
        const float depth = inside ? *map_of(whole).values<float>(from_y, from_x) : 0;
        const int valid = inside ? *map_of(whole, 1).at(from_y, from_x) : 0;
        CHECK(*map_of(mirrored).values<float>(y, x) == depth);
        CHECK(*map_of(mirrored, 1).at(y, x) == valid);
      }
    }
  }
}

TEST_CASE("a dense map keeps its own value outside, and is repeated where its image is") {
  DenseMap map{"classes", Image(2, 2, {PixelType::u16, 1}), Filter::nearest, 255};
  const Image shifted = moved(map, translation(1, 0, kNearest)).values;
  CHECK(*shifted.values<std::uint16_t>(0, 0) == 0);
  CHECK(*shifted.values<std::uint16_t>(0, 1) == 255);
  CHECK(*moved(map, geometry::Crop{{0, 1, -1, 2}}).values.values<std::uint16_t>(0, 0) == 255);
  const geometry::Crop repeated{{0, 1, -1, 2}, Padding::edge};
  CHECK(*moved(map, repeated).values.values<std::uint16_t>(0, 0) == 0);
}

TEST_CASE("bilinear maps of planes are planes: at the moved positions") {
  const DrawnDepth drawn({.image = {24, 32}, .filter = Filter::bilinear, .holes = false});
  const Sampling bilinear{Filter::bilinear, {}};
  for (std::int64_t i = 0; i < 8; ++i) {
    const tests::DepthPlane plane = drawn.plane(i);
    const Image wide = map_of(moved(drawn.get(i), geometry::Resize{{12, 80}}));
    for (std::int64_t y = 2; y < 10; ++y)
      for (std::int64_t x = 4; x < 76; ++x) {
        const double px = (static_cast<double>(x) + 0.5) * 32 / 80;
        const double py = (static_cast<double>(y) + 0.5) * 2;
        CHECK(*wide.values<float>(y, x) == doctest::Approx(plane.at(px, py)).epsilon(1e-5));
      }
    const geometry::AffineWarp turn =
        std::get<geometry::AffineWarp>(rotation({24, 32}, 20, bilinear));
    const Image turned = map_of(moved(drawn.get(i), turn));
    for (std::int64_t y = 8; y < 16; ++y)
      for (std::int64_t x = 8; x < 24; ++x) {
        const double px = static_cast<double>(x) + 0.5, py = static_cast<double>(y) + 0.5;
        const double sx = turn.map.xx * px + turn.map.xy * py + turn.map.x0;
        const double sy = turn.map.yx * px + turn.map.yy * py + turn.map.y0;
        CHECK(*turned.values<float>(y, x) == doctest::Approx(plane.at(sx, sy)).epsilon(1e-5));
      }
  }
}

TEST_CASE("depth and its mask stay together through a whole pipeline") {
  const DrawnDepth drawn;
  AugmentOptions options;
  options.size = {40, 40};
  options.policy = "rand-m9-n3-p1";
  options.crop = TrainCrop::keep_ratio_random;
  const Pipeline pipeline = training_pipeline(options);
  std::int64_t holes = 0;
  for (std::int64_t i = 0; i < 32; ++i) {
    Rng rng(5, static_cast<std::uint64_t>(i));
    const Sample shown = pipeline.apply(drawn.get(i), rng);
    REQUIRE(map_of(shown).size() == shown.image.size());
    REQUIRE(map_of(shown, 1).size() == shown.image.size());
    for (std::int64_t y = 0; y < 40; ++y)
      for (std::int64_t x = 0; x < 40; ++x) {
        const bool valid = *map_of(shown, 1).at(y, x) == 1;
        CHECK((*map_of(shown).values<float>(y, x) > 0) == valid);
        holes += valid ? 0 : 1;
      }
  }
  CHECK(holes > 0);
}

TEST_CASE("a map of another size than its image is refused") {
  Sample sample = DrawnDepth().get(0);
  sample.image = Image(8, 8);
  CHECK_THROWS_WITH_AS((void)moved(std::move(sample), geometry::Flip{}),
                       "geometry: the map \"depth\" is 32x32, expected the size of its image, 8x8",
                       Error);
}

namespace {

/// The moves one after the other, as if no crop were known before its resize.
Sample moved_one_by_one(Sample sample, const std::vector<Geometry>& moves) {
  for (const Geometry& move : moves) sample = moved(std::move(sample), move);
  return sample;
}

bool are_equal(const Sample& a, const Sample& b) {
  return a.image == b.image && a.targets == b.targets;
}

/// Memory that the process has had at most, in bytes.
std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * std::int64_t{1024};
}

}  // namespace

TEST_CASE("a crop after a resize gives the same pixels, boxes and maps as both in turn") {
  const DrawnBoxes boxes({.size = 4});
  const DrawnDepth depths({.size = 4});
  for (const Filter filter : {Filter::nearest, Filter::box, Filter::bilinear, Filter::bicubic}) {
    for (const ImageSize size : {ImageSize{90, 31}, ImageSize{7, 130}, ImageSize{40, 60}}) {
      for (const Padding padding : {Padding::constant, Padding::reflect, Padding::edge}) {
        for (const PixelBox box : {PixelBox{1, 6, 3, 20}, PixelBox{-4, 12, 2, 40},
                                   PixelBox{-3, 95, -3, 135}, PixelBox{-9, -2, 0, 5}}) {
          CAPTURE(to_string(size));
          CAPTURE(box.top);
          const std::vector<Geometry> moves = {geometry::Resize{size, filter},
                                               geometry::Crop{box, padding, {7, 8, 9}}};
          for (std::int64_t i = 0; i < 4; ++i) {
            CHECK(are_equal(moved(boxes.get(i), moves), moved_one_by_one(boxes.get(i), moves)));
            CHECK(are_equal(moved(depths.get(i), moves), moved_one_by_one(depths.get(i), moves)));
          }
        }
      }
    }
  }
}

TEST_CASE("a picture of 2 x 30,000 takes no more memory than itself and its crop") {
  EvaluationTransform transform;
  transform.size = {224, 224};
  AugmentOptions simple;
  simple.crop = TrainCrop::simple;
  simple.size = {224, 224};
  const std::int64_t before = peak_memory();
  Sample wide{Image(2, 30'000)}, tall{Image(30'000, 2)};
  wide.targets.maps = {{"depth", Image(2, 30'000, {PixelType::f32, 1})}};
  for (const CropMode mode :
       {CropMode::center, CropMode::squash, CropMode::border, CropMode::adm}) {
    transform.crop.mode = mode;
    Rng rng(0);
    CHECK(evaluation_pipeline(transform).apply(wide, rng).image.size() == transform.size);
    CHECK(evaluation_pipeline(transform).apply(tall, rng).image.size() == transform.size);
  }
  Rng rng(0);
  CHECK(training_pipeline(simple).apply(wide, rng).image.size() == simple.size);
  CHECK(peak_memory() - before < std::int64_t{100} << 20);
}

}  // namespace fovea
