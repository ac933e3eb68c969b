// Resizing against Pillow, bit for bit: the numbers come from PIL.Image.resize.
#include "data/geometry/resize.h"

#include <doctest/doctest.h>

#include <array>

#include "engine/base/error.h"
#include "tests/data/hash.h"

namespace fovea {
namespace {

/// Columns of noise, on which the order of the passes shows.
Image noisy_image(ImageSize size) {
  Image image(size.height, size.width);
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; ++x)
      for (int c = 0; c < Image::kChannels; ++c)
        image.at(y, x)[c] = static_cast<std::uint8_t>(y * y * 31 + x * 57 + c * 91 + y * x * 7);
  return image;
}

}  // namespace

TEST_CASE("resize gives Pillow's bytes") {
  struct Row {
    Filter filter;
    std::array<std::uint64_t, 4> hashes;  // 5 x 7, 23 x 31, 11 x 4, 1 x 1
  };
  const Row rows[] = {
      {Filter::nearest,
       {0xd42b694cc907fdf9, 0xd7001b2fa2a56981, 0x9cdfdf9ce9889111, 0x904c461b188d8381}},
      {Filter::box,
       {0xc4145145e7e7f02a, 0xd7001b2fa2a56981, 0x4dd83c319dd8f678, 0x2d34371adf582fad}},
      {Filter::bilinear,
       {0x9c984b80af8cbfaf, 0xfa3050825103f4e1, 0x8a3f36c138ebc6d8, 0x0115671ac61fe7b0}},
      {Filter::hamming,
       {0x43799a40e2191037, 0x7deb264b3a29d364, 0x8a1ee7f44efd708c, 0x718f7c1b05cc5b9b}},
      {Filter::bicubic,
       {0x9d9ad311ae82ddb1, 0xb027efb7d1c14707, 0x5623d6c710f52bfc, 0x0112681ac61db38c}},
      {Filter::lanczos,
       {0x376f34bddd6da184, 0x2c38eb552ec4aa1c, 0x61aee6886dde015e, 0x09aa951acaf6ba7a}}};
  const ImageSize sizes[] = {{5, 7}, {23, 31}, {11, 4}, {1, 1}};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(static_cast<int>(row.filter));
      CAPTURE(i);
      CHECK(tests::hash_of(resize(tests::sample_image(), sizes[i], row.filter)) == row.hashes[i]);
    }
  }
}

TEST_CASE("resize gives Pillow's bytes, readable") {
  const std::vector<std::uint8_t> expected = {51, 111, 165, 133, 184, 134, 199, 105, 86,
                                              87, 180, 107, 172, 120, 92,  151, 75,  167};
  CHECK(resize(tests::sample_image(), {2, 3}, Filter::bicubic).pixels == expected);
}

TEST_CASE("resize reads a box between pixels") {
  const Image part = resize(tests::sample_image(), {6, 5}, Filter::bicubic,
                            {.top = 0.25, .left = 1.5, .bottom = 10, .right = 9.75});
  CHECK(tests::hash_of(part) == 0x011a1bcaa213607d);
}

TEST_CASE("resize begins with the height where it loses more than twice the width, as Pillow 13") {
  struct Row {
    ImageSize from, to;
    std::uint64_t hash;
  };
  for (const Row& row :
       {Row{{40, 12}, {9, 8}, 0x82f61310df2204a6}, Row{{40, 12}, {9, 20}, 0x5690e4a740ccbe1e},
        Row{{40, 12}, {9, 12}, 0x03ef1ac89236e1db},
        Row{{21, 17}, {9, 11}, 0x8a1c37fb66ceee8c},     // 12 = 2 x 6: not yet
        Row{{21, 17}, {9, 12}, 0x14c58b871c9579a3}}) {  // 12 > 2 x 5
    CAPTURE(row.from.height);
    CAPTURE(row.to.width);
    CHECK(tests::hash_of(resize(noisy_image(row.from), row.to)) == row.hash);
  }
  const SourceBox part{.top = 2.25, .left = 1.5, .bottom = 38.5, .right = 10};
  CHECK(tests::hash_of(resize(noisy_image({40, 12}), {9, 8}, Filter::bicubic, part)) ==
        0x68a56db90e424a29);
}

TEST_CASE("resize to the same size copies") {
  for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::lanczos})
    CHECK(resize(tests::sample_image(), {11, 13}, filter) == tests::sample_image());
}

TEST_CASE("resize refuses what it cannot do") {
  const Image image = tests::sample_image();
  CHECK_THROWS_WITH_AS((void)resize(image, {0, 4}),
                       "resize: got size 0 x 4, expected at least 1 x 1", Error);
  CHECK_THROWS_WITH_AS(
      (void)resize(image, {4, 4}, Filter::box, {0, 0, 12, 13}),
      "resize: got the range 0 to 12 of a side of 11 pixels, expected a part of it", Error);
  CHECK_THROWS_AS((void)resize(Image(), {4, 4}), Error);
}

}  // namespace fovea
