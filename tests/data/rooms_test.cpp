// Drawn rooms: geometry of the depth, holes, and dependence on seed, split and index alone.
#include "data/sources/drawn/rooms.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/augment/training_pipeline.h"
#include "data/geometry/transforms.h"
#include "data/sources/drawn/rooms_scene.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

const DenseMap& depth_of(const Sample& sample) {
  REQUIRE(sample.targets.maps.size() == 1);
  return sample.targets.maps[0];
}

std::vector<float> values_of(const Sample& sample) {
  std::vector<float> values(static_cast<std::size_t>(Rooms::kSize.height * Rooms::kSize.width));
  planar_values(depth_of(sample).values, values.data());
  return values;
}

}  // namespace

TEST_CASE("a room is a function of seed, split and index") {
  const Rooms train(Split::train), again(Split::train), test(Split::test);
  const Rooms other(Split::train, {.seed = 1});
  const Sample a = train.get(7), b = again.get(7);
  CHECK(a.image == b.image);
  CHECK(a.targets == b.targets);
  for (const Sample& different : {train.get(8), test.get(7), other.get(7)}) {
    CHECK_FALSE(a.image == different.image);
    CHECK_FALSE(a.targets == different.targets);
  }
  CHECK(train.size() == 8192);
  CHECK(test.size() == 512);
  CHECK_THROWS_WITH_AS(static_cast<void>(test.get(512)), doctest::Contains("0 to 511"), Error);
}

TEST_CASE("depth is in metres in (0.3, 10], nearest when resized, and 2 % are holes") {
  const Rooms rooms(Split::train);
  double unknown = 0, all = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    const Sample sample = rooms.get(i);
    CHECK(depth_of(sample).name == "depth");
    CHECK(depth_of(sample).filter == Filter::nearest);
    CHECK(depth_of(sample).outside == 0);
    CHECK(sample.image.size() == Rooms::kSize);
    for (const float metres : values_of(sample)) {
      unknown += metres == 0 ? 1 : 0;
      ++all;
      if (metres != 0) CHECK((metres > 0.3F && metres <= 10));
    }
  }
  CHECK(unknown / all > 0.012);
  CHECK(unknown / all < 0.035);
}

TEST_CASE("resizing makes no depths that were not there") {
  Sample sample = Rooms(Split::train).get(3);
  const std::vector<float> before = values_of(sample);
  const std::set<float> known(before.begin(), before.end());
  sample = moved(std::move(sample), geometry::Resize{{24, 32}});
  std::vector<float> after(24 * 32);
  planar_values(depth_of(sample).values, after.data());
  for (const float metres : after) CHECK(known.contains(metres));
}

TEST_CASE("a flip mirrors picture and depth together") {
  const Sample sample = Rooms(Split::train).get(5);
  AugmentOptions always;
  always.crop_padding = 0;
  always.flip = 1;
  always.jitter = {};
  Rng rng(1, 1);
  const Sample flipped = training_pipeline(always).apply(Sample(sample), rng);
  const std::int64_t width = Rooms::kSize.width;
  for (std::int64_t y = 0; y < Rooms::kSize.height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      CHECK(*depth_of(flipped).values.values<float>(y, x) ==
            *depth_of(sample).values.values<float>(y, width - 1 - x));
      CHECK(flipped.image.at(y, x)[0] == sample.image.at(y, width - 1 - x)[0]);
    }
  }
}

namespace rooms {

TEST_CASE("a ray meets a sphere, a cylinder and a turned box where geometry says") {
  const Ray ahead{{0, 0.5, 0}, {0, 0, 1}};
  Piece sphere{.form = Piece::Form::sphere, .base = {0, 0, 4}, .radius = 0.5};
  REQUIRE(sphere.meet(ahead));
  CHECK(sphere.meet(ahead)->t == doctest::Approx(3.5));
  CHECK(sphere.meet(ahead)->normal.z == doctest::Approx(-1));
  Piece cylinder{.form = Piece::Form::cylinder, .base = {0.3, 0, 4}, .radius = 0.5, .height = 1};
  REQUIRE(cylinder.meet(ahead));
  CHECK(cylinder.meet(ahead)->t == doctest::Approx(4 - std::sqrt(0.25 - 0.09)));
  const Ray above{{0, 2, 0}, {0, 0, 1}}, down{{0.3, 3, 3.8}, {0, -1, 0}};
  CHECK_FALSE(cylinder.meet(above));
  REQUIRE(cylinder.meet(down));
  CHECK(cylinder.meet(down)->t == doctest::Approx(2));
  CHECK(cylinder.meet(down)->normal.y == 1);
  Piece box{.form = Piece::Form::box, .base = {0, 0, 4}, .half_x = 1, .half_z = 1, .height = 1};
  box.cosine = box.sine = std::sqrt(0.5);  // a corner ahead
  const Ray beside{{0.1, 0.5, 0}, {0, 0, 1}};
  REQUIRE(box.meet(beside));
  CHECK(box.meet(beside)->t == doctest::Approx(4 - std::sqrt(2.0) + 0.1));
  CHECK(box.meet(beside)->normal.x == doctest::Approx(std::sqrt(0.5)));
  CHECK(box.meet(beside)->normal.z == doctest::Approx(-std::sqrt(0.5)));
  const Ray away{{0, 0.5, 0}, {0, 0, -1}};
  for (const Piece& piece : {sphere, cylinder, box}) CHECK_FALSE(piece.meet(away));
}

TEST_CASE("depth is along the optical axis, not along the ray") {
  // Level rays to the left and right of the middle: x is 0.5 at the edges of 60 degrees across.
  Rng rng(3, 1);
  const RoomScene scene(rng);
  const Ray middle = scene.ray(0, 0), edge = scene.ray(0.5, 0);
  CHECK(dot(middle.along, middle.along) == doctest::Approx(1));
  CHECK(dot(middle.along, edge.along) == doctest::Approx(1));
  CHECK(dot(edge.along, edge.along) == doctest::Approx(1 / std::pow(std::cos(M_PI / 6), 2)));
}

TEST_CASE("a scene is looked at from inside: every ray ends on a surface") {
  for (std::uint64_t i = 0; i < 20; ++i) {
    Rng rng(i, 1);
    const RoomScene scene(rng);
    for (const double x : {-0.5, -0.1, 0.4}) {
      const Ray ray = scene.ray(x, 0.3);
      const RoomScene::Seen seen = scene.look(ray);
      CHECK(ray.from.y + seen.depth * ray.along.y > -1e-9);  // not below the floor
      CHECK(std::isfinite(seen.depth));
      CHECK(seen.depth > 0);
      for (const double channel : seen.color) CHECK((channel >= 0 && channel <= 1));
    }
  }
}

}  // namespace rooms
}  // namespace fovea
