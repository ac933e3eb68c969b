// Images that are not 8-bit RGB: what geometry makes of them is what it makes of RGB, channel by
// channel.
#include <doctest/doctest.h>

#include <cmath>

#include "data/augment/affine.h"
#include "data/augment/color.h"
#include "data/geometry/transforms.h"
#include "engine/base/error.h"
#include "tests/data/hash.h"

namespace fovea {
namespace {

/// The sample image with its values times `scale`, in another format; channel c is channel c % 3.
template <class T>
Image sample_as(int channels, double scale = 1) {
  const Image rgb = tests::sample_image();
  Image image(rgb.height, rgb.width, {kPixelType<T>, channels});
  for (std::int64_t y = 0; y < rgb.height; ++y)
    for (std::int64_t x = 0; x < rgb.width; ++x)
      for (int c = 0; c < channels; ++c)
        image.values<T>(y, x)[c] = static_cast<T>(rgb.at(y, x)[c % 3] * scale);
  return image;
}

/// Largest difference to the channels of an RGB image.
template <class T>
double difference(const Image& image, const Image& rgb, double scale = 1) {
  REQUIRE(image.size() == rgb.size());
  REQUIRE(image.format.type == kPixelType<T>);
  double most = 0;
  for (std::int64_t y = 0; y < rgb.height; ++y)
    for (std::int64_t x = 0; x < rgb.width; ++x)
      for (int c = 0; c < image.format.channels; ++c)
        most = std::max(most, std::abs(static_cast<double>(image.values<T>(y, x)[c]) / scale -
                                       static_cast<double>(rgb.at(y, x)[c % 3])));
  return most;
}

/// Of `change`, done to 8-bit images of one and five channels, u16, and f32 of two.
template <class Change>
void check_same(const Change& change, double rounding) {
  const Image rgb = change(tests::sample_image());
  CHECK(difference<std::uint8_t>(change(sample_as<std::uint8_t>(1)), rgb) <= rounding);
  CHECK(difference<std::uint8_t>(change(sample_as<std::uint8_t>(5)), rgb) <= rounding);
  CHECK(difference<std::uint16_t>(change(sample_as<std::uint16_t>(3, 256)), rgb, 256) <= rounding);
  CHECK(difference<float>(change(sample_as<float>(2)), rgb) <= rounding);
}

Image read_png(const Image& image, const DecodeOptions& options) {
  return decode_image(as_u8(encode_png(image)), "png", options);
}

}  // namespace

TEST_CASE("crops, flips and turns move whole pixels of any format") {
  check_same([](const Image& i) { return crop(i, -2, 3, {8, 20}); }, 0);
  check_same([](const Image& i) { return crop(i, {-4, 12, -3, 15}, Padding::reflect); }, 0);
  check_same([](const Image& i) { return flip_horizontal(i); }, 0);
  check_same([](const Image& i) { return flip_vertical(i); }, 0);
  check_same([](const Image& i) { return turn(crop(i, 0, 0, {11, 11}), 1); }, 0);
  check_same([](const Image& i) { return resize(i, {30, 7}, Filter::nearest); }, 0);
  const AffineMap shear{1, 0.3, 1, 0.1, 1, -2};
  check_same([&](const Image& i) { return transform(i, shear, Filter::nearest, {}); }, 0);
  check_same([](const Image& i) { return transform(i, {0.5, 0, 2}, Filter::nearest, {}); }, 0);
}

TEST_CASE("resizing and affine maps compute what they compute of RGB, but for rounding") {
  const AffineMap shear{1, 0.3, 1, 0.1, 1, -2};
  for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
    const auto resized_to = [filter](ImageSize size) {
      return [=](const Image& i) { return resize(i, size, filter); };
    };
    const Image rgb = resize(tests::sample_image(), {7, 25}, filter);
    CHECK(difference<std::uint8_t>(resize(sample_as<std::uint8_t>(1), {7, 25}, filter), rgb) == 0);
    CHECK(difference<std::uint8_t>(resize(sample_as<std::uint8_t>(4), {7, 25}, filter), rgb) == 0);
    const auto smoothed = [&](const Image& i) { return transform(i, shear, filter, {}); };
    if (filter == Filter::bicubic) continue;  // RGB is clipped at 0 and 255 between the passes
    check_same(resized_to({7, 25}), 1.01);
    check_same(resized_to({30, 13}), 0.51);  // one pass
    check_same(smoothed, 1);                 // RGB is truncated
  }
}

TEST_CASE("bicubic maps of f32 are RGB's where nothing is clipped") {
  Image rgb = tests::sample_image();
  for (std::uint8_t& value : rgb.pixels) value = static_cast<std::uint8_t>(100 + value / 8);
  Image deep(rgb.height, rgb.width, {PixelType::f32, 3});
  for (std::int64_t y = 0; y < rgb.height; ++y)
    for (std::int64_t x = 0; x < rgb.width; ++x)
      for (int c = 0; c < 3; ++c) deep.values<float>(y, x)[c] = rgb.at(y, x)[c];
  const AffineMap turn{0.9, 0.2, 1, -0.2, 0.9, 2};
  const std::vector<std::uint8_t> gray = pixel_of(deep.format, 9);
  const Image ours = transform(deep, turn, Filter::bicubic, gray);
  const Image theirs = transform(rgb, turn, {Filter::bicubic, {9, 9, 9}});
  CHECK(difference<float>(ours, theirs) < 1.001);
  // The first rounding, of 1/2, comes through weights whose sizes add up to 1.25.
  CHECK(difference<float>(resize(deep, {30, 40}), resize(rgb, {30, 40})) < 1.125);
}

TEST_CASE("values go to a batch channel by channel") {
  std::vector<float> values(2 * 11 * 13);
  const Image deep = sample_as<float>(2, 0.5);
  normalize(deep, kImageNetNormalization, values.data());  // not three channels: as it is
  CHECK(values[11 * 13 + 4 * 13 + 7] == deep.values<float>(4, 7)[1]);
  const Image wide = sample_as<std::uint16_t>(1, 257);
  normalize(wide, kImageNetNormalization, values.data());
  CHECK(values[4 * 13 + 7] == static_cast<float>(*wide.values<std::uint16_t>(4, 7)) / 65535);
  planar_values(wide, values.data());
  CHECK(values[4 * 13 + 7] == *wide.values<std::uint16_t>(4, 7));

  std::vector<float> narrow(3 * 11 * 13), broad(3 * 11 * 13);
  normalize(tests::sample_image(), kImageNetNormalization, narrow.data());
  normalize(sample_as<std::uint16_t>(3, 257), kImageNetNormalization, broad.data());
  for (std::size_t i = 0; i < narrow.size(); ++i)
    CHECK(broad[i] == doctest::Approx(narrow[i]).epsilon(1e-5));
}

TEST_CASE("a pixel of a value is rounded and clipped where values are whole") {
  CHECK(pixel_of({PixelType::u8, 2}, 254.6) == std::vector<std::uint8_t>{255, 255});
  CHECK(pixel_of({PixelType::u8, 1}, -3) == std::vector<std::uint8_t>{0});
  CHECK(pixel_of({PixelType::u16, 1}, 257).size() == 2);
  CHECK(pixel_of({PixelType::f32, 3}, -1.5).size() == 12);
}

TEST_CASE("colours, JPEG and fills want their own format") {
  const Image deep = sample_as<float>(3);
  CHECK_THROWS_WITH_AS((void)adjust_brightness(deep, 1.5),
                       "adjust_brightness: got an image of f32 x 3, expected u8 x 3", Error);
  CHECK_THROWS_AS((void)equalize(sample_as<std::uint8_t>(1)), Error);
  CHECK_THROWS_AS((void)crop(deep, {0, 99, 0, 9}, Padding::constant, Color8{1, 2, 3}), Error);
  CHECK_THROWS_AS((void)transform(deep, {}, {Filter::nearest, {1, 2, 3}}), Error);
  CHECK_THROWS_AS((void)encode_png(deep), Error);
}

TEST_CASE("a PNG is read as it is stored where that is asked for") {
  const Image gray = sample_as<std::uint8_t>(1), color = tests::sample_image();
  CHECK(read_png(gray, {.as_stored = true}) == gray);
  CHECK(read_png(color, {.as_stored = true}) == color);
  CHECK(read_png(gray, {}).is_rgb8());
}

// stb_image writes 8 bits only.
TEST_CASE("a PNG of 16 bits is read as it is stored, or as the RGB of its high bytes" *
          doctest::skip(FOVEA_HAS_PNG == 0)) {
  for (const int channels : {1, 3}) {
    const Image wide = sample_as<std::uint16_t>(channels, 256.9);
    CHECK(read_png(wide, {.as_stored = true}) == wide);
    const Image high = read_png(wide, {});  // the classifier's
    CHECK(high.is_rgb8());
    CHECK(high.at(4, 7)[0] == *wide.values<std::uint16_t>(4, 7) >> 8);
  }
}

}  // namespace fovea
