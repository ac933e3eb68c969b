// What is done to a batch is done to all of its members, whoever added them.
#include "data/loading/batch.h"

#include <doctest/doctest.h>

#include "data/augment/mixup.h"
#include "data/loading/raw_pixels.h"
#include "engine/base/error.h"
#include "engine/random.h"

namespace fovea {
namespace {

constexpr TensorOptions kWhole = {DType::i64, {}};

Batch batch_with_members() {
  Batch batch{rand_uniform({3, 2, 2, 2}, {0, 1}, {1}), from_values({3}, {7, 8, 9}, kWhole),
              from_values({3}, {4, 5, 6}, kWhole)};
  batch.set("boxes", from_values({3, 1, 2}, {0, 1, 2, 3, 4, 5}));
  batch.set({"count", from_values({3}, {1, 2, 3}, kWhole), /*uploads=*/false});
  batch.set("none", {});
  return batch;
}

}  // namespace

TEST_CASE("members are found by name, and a member is set once") {
  Batch batch = batch_with_members();
  CHECK(batch.at("count").to_vector() == std::vector<double>{1, 2, 3});
  CHECK_FALSE(batch.find("noise").defined());
  CHECK_THROWS_WITH_AS(
      (void)batch.at("noise"),
      "batch: got no member \"noise\", expected one of images, labels, indices, boxes, count, none",
      Error);
  batch.set("boxes", zeros({3, 1}));
  CHECK(batch.at("boxes").shape() == Shape{3, 1});
  CHECK(batch.others.size() == 3);
}

TEST_CASE("repeated rows begin again with the first, in every member") {
  const Batch batch = batch_with_members(), more = batch.repeated(5);
  CHECK(more.images.shape() == Shape{5, 2, 2, 2});
  for (std::int64_t i = 0; i < 5 * 8; ++i) CHECK(more.images.at(i) == batch.images.at(i % 24));
  CHECK(more.labels.to_vector() == std::vector<double>{7, 8, 9, 7, 8});
  CHECK(more.indices.to_vector() == std::vector<double>{4, 5, 6, 4, 5});
  CHECK(more.at("boxes").to_vector() == std::vector<double>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3});
  CHECK(more.at("count").to_vector() == std::vector<double>{1, 2, 3, 1, 2});
  CHECK(batch.repeated(3).images.is_same(batch.images));
}

TEST_CASE("repeated rows of raw pixels take their boxes along, unless they are to be mixed") {
  Batch batch{zeros({2, 3, 8, 8}, {DType::u8, {}}), from_values({2}, {7, 8}, kWhole)};
  batch.raw =
      raw_pixels(kCifarNormalization, {{{{1, 2, 3, 5}, {1, 2, 3, 4, 5, 6}}},
                                       {{{0, 4, 0, 4}, {7, 8, 9}}, {{0, 1, 0, 1}, {0, 0, 0}}}});
  const RawPixels& own = *batch.raw;
  CHECK(own.levels.shape() == Shape{3, 256});
  CHECK(own.levels.at(2 * 256 + 255) == (1.0F - 0.4465F) / 0.2616F);
  const std::vector<double> boxes{1, 2, 3, 5, 0, 1, 0, 0, 0, 0, 0, 0,  // and none
                                  0, 4, 0, 4, 6, 0, 0, 1, 0, 1, 9, 0};
  CHECK(own.erased.to_vector() == boxes);
  CHECK(own.fills.to_vector() == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0});
  const Batch more = batch.repeated(3);
  CHECK(more.images.shape() == Shape{3, 3, 8, 8});
  CHECK(more.raw->erased.shape() == Shape{3, 2, 6});
  for (std::int64_t i = 0; i < 36; ++i) CHECK(more.raw->erased.at(i) == boxes[i % 24]);
  CHECK(more.raw->levels.is_same(own.levels));
  CHECK(more.raw->fills.is_same(own.fills));

  Rng rng(1);
  const Batch mixed = mix(batch, {.classes = 10}, rng);
  CHECK(mixed.images.is_same(batch.images));
  CHECK(mixed.repeated(2).raw->mixed.shape() == Shape{2, 5});
  CHECK_THROWS_WITH_AS((void)mixed.repeated(3),
                       "batch: its raw pixels are mixed with those of other rows; repeat rows "
                       "before mixing",
                       Error);
}

TEST_CASE("all members are changed, and told apart by whether they go to the device") {
  std::vector<std::int64_t> going, staying;
  const Batch batch = batch_with_members().mapped([&](const Tensor& value, bool uploads) {
    (uploads ? going : staying).push_back(value.numel());
    return uploads ? zeros(value.shape(), value.options()) : value;
  });
  CHECK(going == std::vector<std::int64_t>{24, 3, 6});
  CHECK(staying == std::vector<std::int64_t>{3, 3});
  CHECK(batch.at("boxes").at(5) == 0);
  CHECK(batch.indices.at(2) == 6);
  CHECK(batch_with_members().uploaded(Device{}).at("boxes").at(5) == 5);
}

}  // namespace fovea
