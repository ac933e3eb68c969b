// Depth maps as 16-bit PNG files.
#include "data/codecs/depth_png.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "data/dataset.h"
#include "engine/base/error.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace {

Image depth_map(const std::vector<float>& metres, std::int64_t height = 1) {
  Image map(height, std::ssize(metres) / height, {PixelType::f32, 1});
  std::copy(metres.begin(), metres.end(), map.values<float>(0, 0));
  return map;
}

std::vector<float> values(const Image& map) {
  const float* first = map.values<float>(0, 0);
  return {first, first + map.height * map.width};
}

}  // namespace

#if FOVEA_HAS_PNG
TEST_CASE("a depth map keeps all 16 bits on disk") {
  // Millimetres whose high and low bytes differ: 1, 255, 256, 0x1234 and the greatest known one.
  const Image map = depth_map({0, 0.001F, 0.255F, 0.256F, 4.660F, 65.534F}, 2);
  const std::string file = encode_depth_png(map);
  const Image stored = decode_image(as_u8(file), "x.png", DecodeOptions{.as_stored = true});
  REQUIRE(stored.format == PixelFormat{PixelType::u16, 1});
  CHECK(stored.size() == ImageSize{2, 3});
  CHECK(*stored.values<std::uint16_t>(0, 2) == 255);
  CHECK(*stored.values<std::uint16_t>(1, 1) == 0x1234);
  CHECK(decode_depth_png(as_u8(file), "x.png") == map);
}

TEST_CASE("the greatest value is unknown, as 0 is, and a scale turns values into metres") {
  Image stored(1, 4, {PixelType::u16, 1});
  const std::vector<std::uint16_t> numbers{0, 65535, 5120, 65534};
  std::copy(numbers.begin(), numbers.end(), stored.values<std::uint16_t>(0, 0));
  const std::string file = encode_png(stored);
  const auto read = [&](double scale) {
    return values(decode_depth_png(as_u8(file), "x.png", kMaxPixels, scale));
  };
  CHECK(read(256) == std::vector<float>{0, 0, 20, 65534.0F / 256});
  CHECK(read(5000) == std::vector<float>{0, 0, 1.024F, 13.1068F});
}

TEST_CASE("pictures that are no depth maps are refused by name") {
  const auto message = [](const Image& image) {
    return message_of(
        [&] { static_cast<void>(decode_depth_png(as_u8(encode_png(image)), "a/x.png")); });
  };
  CHECK(contains(message(Image(2, 2)), "a/x.png: got a picture of u8 x 3, expected a depth map"));
  CHECK(contains(message(Image(2, 2, {PixelType::u8, 1})), "u8 x 1"));
  CHECK(contains(message(Image(2, 2, {PixelType::u16, 3})), "u16 x 3"));
  const std::string file = encode_depth_png(depth_map({1, 2, 3}));
  for (std::size_t size = 0; size < file.size(); ++size) {
    CHECK_THROWS_AS(static_cast<void>(decode_depth_png(as_u8(file.substr(0, size)), "x")),
                    ImageError);
  }
  CHECK(contains(message_of([&] { static_cast<void>(decode_depth_png(as_u8(file), "x", 2)); }),
                 "the limit is 2"));
}
#endif

TEST_CASE("metres become millimetres, rounded, up to the greatest") {
  const Image stored = millimetres(depth_map({0, 0.0004F, 0.0006F, 1.2344F, 1.2346F, 65.6F, 1e9F}));
  const std::vector<std::uint16_t> expected{0, 0, 1, 1234, 1235, 65534, 65534};
  const auto* first = stored.values<std::uint16_t>(0, 0);
  CHECK(std::vector<std::uint16_t>(first, first + 7) == expected);
  CHECK(values(depth_map({1, 2}))[1] == 2);
  const auto message = [](float value) {
    return message_of([&] { static_cast<void>(millimetres(depth_map({1, 1, 1, value}, 2))); });
  };
  CHECK(contains(message(-1), "-1 m at row 1, column 1"));
  CHECK_FALSE(message(std::nanf("")).empty());
  CHECK_FALSE(message(std::numeric_limits<float>::infinity()).empty());
  CHECK(
      contains(message_of([] { static_cast<void>(millimetres(Image(1, 1))); }), "got an image of"));
}
