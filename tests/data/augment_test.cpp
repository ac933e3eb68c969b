// What augmentations do and refuse. That their bits are Pillow's is shown by the image_* files of
// tests/golden.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "data/augment/affine.h"
#include "data/augment/blur.h"
#include "data/augment/color.h"
#include "data/geometry/evaluation_transform.h"
#include "data/geometry/geometry.h"
#include "data/geometry/transforms.h"
#include "engine/base/error.h"
#include "tests/data/hash.h"

namespace fovea {
namespace {

const Sampling kBlack = {Filter::bicubic, {}};

Image rotated(const Image& image, double degrees) {
  return moved(image, rotation(image.size(), degrees, kBlack));
}

Image padded_center(const Image& image, ImageSize size, Padding padding, const Color8& fill = {}) {
  return crop(image, center_box_or_pad(image.size(), size), padding, fill);
}

Image flat(std::uint8_t level) {
  Image image(6, 5);
  std::fill(image.pixels.begin(), image.pixels.end(), level);
  return image;
}

double linear(double t) { return std::max(0.0, 1 - std::abs(t)); }

double keys(double t) {  // a = -1
  t = std::abs(t);
  if (t < 1) return (t - 2) * t * t + 1;
  return t < 2 ? ((5 - t) * t - 8) * t + 4 : 0;
}

/// A channel's value at a point: a weighted sum of pixels; those beyond an edge repeat it.
double read(const Image& image, double x, double y, int channel, double (*weight)(double)) {
  double sum = 0;
  for (std::int64_t i = -2; i < image.height + 2; ++i) {
    for (std::int64_t j = -2; j < image.width + 2; ++j) {
      const double share =
          weight(x - static_cast<double>(j) - 0.5) * weight(y - static_cast<double>(i) - 0.5);
      sum += share * image.at(std::clamp<std::int64_t>(i, 0, image.height - 1),
                              std::clamp<std::int64_t>(j, 0, image.width - 1))[channel];
    }
  }
  return std::trunc(std::clamp(sum, 0.0, 255.0));
}

/// The largest difference of a transformed image from what its definition says.
double worst_error(const Image& image, const AffineMap& m, const Sampling& sampling) {
  const Image result = transform(image, m, sampling);
  double worst = 0;
  for (std::int64_t i = 0; i < 3 * image.height * image.width; ++i) {
    const double x = static_cast<double>(i / 3 % image.width) + 0.5;
    const double y = static_cast<double>(i / 3 / image.width) + 0.5;
    const double from_x = m.xx * x + m.xy * y + m.x0, from_y = m.yx * x + m.yy * y + m.y0;
    const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
    const bool inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
    const auto c = static_cast<int>(i % 3);
    const auto weight = sampling.filter == Filter::bilinear ? linear : keys;
    const double wanted = inside ? read(image, from_x, from_y, c, weight) : sampling.fill[c];
    worst = std::max(worst, std::abs(wanted - result.pixels[i]));
  }
  return worst;
}

}  // namespace

TEST_CASE("a map reads between pixels as its filter says, and fills the rest") {
  // A turn, shears and shifts along one axis, a mirror that enlarges, and one without any inside.
  const AffineMap maps[] = {{0.8, 0.6, -2.1, -0.6, 0.8, 3.3},
                            {1, 0.3, 0, 0, 1, 0},
                            {1, 0, 0, -0.27, 1, 0},
                            {1, 0, 3.7, 0, 1, 0},
                            {1, 0, 0, 0, 1, -2.2},
                            {-0.4, 0, 6, 0, 0.4, 0.1},
                            {1, 0, 40, 0, 1, 0}};
  for (const ImageSize size : {ImageSize{11, 13}, {2, 5}, {7, 1}, {1, 1}}) {
    const Image image = crop(tests::sample_image(), 0, 0, size);
    for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
      for (const AffineMap& map : maps) {
        CAPTURE(size.height);
        CAPTURE(&map - maps);
        CHECK(worst_error(image, map, {filter, {1, 120, 250}}) <= 1);  // rounding cut off
      }
    }
  }
}

TEST_CASE("a map that changes nothing gives the image, with every filter") {
  const Image image = tests::sample_image();
  for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic}) {
    CHECK(transform(image, {}, {filter, {1, 2, 3}}) == image);
    CHECK(moved(image, shear_x(0, {filter, {}})) == image);
    CHECK(moved(image, translation(0, 0, {filter, {}})) == image);
  }
  CHECK(rotated(image, 0) == image);
  CHECK(rotated(image, -720) == image);
}

TEST_CASE("whole pixels move as they are, the rest is filled") {
  const Image image = tests::sample_image();
  const Color8 fill = {9, 8, 7};
  for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic}) {
    const Image there = moved(image, translation(2, -1, {filter, fill}));
    CHECK(there == crop(image, {-1, 10, 2, 15}, Padding::constant, fill));
  }
}

TEST_CASE("right angles turn pixels without loss") {
  const Image image = tests::sample_image();
  CHECK(rotated(image, 180) == flip_vertical(flip_horizontal(image)));
  Image square = crop(image, 0, 0, {11, 11});
  const Image quarter = rotated(square, 90);  // counter-clockwise: the right side to the top
  CHECK(std::equal(quarter.at(0, 3), quarter.at(0, 4), square.at(3, 10)));
  CHECK(rotated(quarter, 270) == square);
  CHECK(rotated(image, 90).height == 11);  // not square: interpolated like any angle
}

TEST_CASE("a positive shear reads further right in lower rows") {
  const Image image = tests::sample_image();
  const Image sheared = moved(image, shear_x(1, {Filter::nearest, {0, 0, 0}}));
  // At pixel centres: x + (y + 1/2), rounded to x + y + 1.
  CHECK(std::equal(sheared.at(0, 0), sheared.at(0, 12), image.at(0, 1)));
  CHECK(std::equal(sheared.at(4, 0), sheared.at(4, 5), image.at(4, 5)));
  CHECK(sheared.at(4, 12)[1] == 0);
}

TEST_CASE("transform refuses filters for resizing and maps to nowhere") {
  const Image image = tests::sample_image();
  CHECK_THROWS_WITH_AS(
      (void)transform(image, {}, {Filter::lanczos, {}}),
      "transform: got a filter for resizing, expected nearest, bilinear or bicubic", Error);
  CHECK_THROWS_WITH_AS((void)moved(image, translation(1e9, 0, kBlack)),
                       "transform: got 1e+09 in the map, expected -1e6 to 1e6", Error);
  CHECK_THROWS_AS((void)rotated(image, NAN), Error);
}

TEST_CASE("an enhancement by 1 changes nothing, by 0 gives its degenerate image") {
  const Image image = tests::sample_image();
  for (Image (*adjust)(const Image&, double) :
       {adjust_saturation, adjust_contrast, adjust_brightness, adjust_sharpness}) {
    CHECK(adjust(image, 1) == image);
    CHECK_THROWS_AS((void)adjust(image, NAN), Error);
  }
  CHECK(adjust_saturation(image, 0) == grayscale(image));
  CHECK(adjust_brightness(image, 0) == Image(11, 13));
  CHECK(adjust_contrast(flat(77), 3) == flat(77));
  CHECK(adjust_sharpness(flat(77), 3) == flat(77));
  CHECK(adjust_brightness(flat(100), 1.5) == flat(150));
  CHECK(adjust_brightness(flat(100), 9) == flat(255));
}

TEST_CASE("hue turns by its share of the circle") {
  Image red = flat(0);
  for (std::size_t i = 0; i < red.pixels.size(); i += 3) red.pixels[i] = 255;
  const Image green = adjust_hue(red, 1.0 / 3);  // 85 of 255 steps
  CHECK(green.at(2, 2)[0] == 0);
  CHECK(green.at(2, 2)[1] == 255);
  CHECK(adjust_hue(flat(50), 0.4) == flat(50));
  CHECK_THROWS_WITH_AS((void)adjust_hue(red, 0.6),
                       "adjust_hue: got factor 0.6, expected -0.5 to 0.5", Error);
}

TEST_CASE("tables of levels") {
  const Image image = tests::sample_image();
  CHECK(invert(invert(image)) == image);
  CHECK(posterize(image, 8) == image);
  CHECK(posterize(image, 0) == Image(11, 13));
  CHECK(posterize(image, -3) == Image(11, 13));
  CHECK(posterize(flat(0b10110111), 3) == flat(0b10100000));
  CHECK(solarize(image, 256) == image);
  CHECK(solarize(image, 0) == invert(image));
  CHECK(solarize(flat(128), 128) == flat(127));
  CHECK(solarize_add(flat(127), 60) == flat(187));
  CHECK(solarize_add(flat(128), 60) == flat(128));
  CHECK(solarize_add(flat(127), 300) == flat(255));
  CHECK_THROWS_AS((void)solarize_add(image, -1), Error);
  CHECK(auto_contrast(flat(9)) == flat(9));
  CHECK(equalize(flat(9)) == flat(9));
}

TEST_CASE("a blur keeps flat images and sums, and radius 0 keeps everything") {
  const Image image = tests::sample_image();
  CHECK(gaussian_blur(image, 0) == image);
  CHECK(gaussian_blur(flat(200), 2.5) == flat(200));
  Image dot(21, 21);
  dot.at(10, 10)[1] = 255;
  const Image blurred = gaussian_blur(dot, 1);
  CHECK(blurred.at(10, 10)[1] == doctest::Approx(255 / (2 * 3.14159)).epsilon(0.1));
  CHECK(blurred.at(10, 8)[1] == blurred.at(12, 10)[1]);
  CHECK(blurred.at(10, 10)[0] == 0);
  CHECK_THROWS_WITH_AS((void)gaussian_blur(image, -1),
                       "gaussian_blur: got radius -1, expected 0 to 1000", Error);
}

TEST_CASE("a Gaussian filter keeps flat images, reflects at edges and stays in small images") {
  const Image image = tests::sample_image();
  CHECK(gaussian_filter(image, 1, 2) == image);
  CHECK(gaussian_filter(flat(200), 23, 2) == flat(200));
  Image dot(9, 9);  // smaller than the taps
  dot.at(0, 4)[2] = 255;
  const Image blurred = gaussian_filter(dot, 5, 1);
  CHECK(blurred.at(0, 4)[2] == doctest::Approx(255 * 0.4026 * 0.4026).epsilon(0.02));
  CHECK(blurred.at(1, 4)[2] == doctest::Approx(255 * 0.4026 * 0.2442).epsilon(0.02));
  CHECK(blurred.at(0, 4)[0] == 0);
  CHECK(gaussian_filter(Image(1, 1), 23, 1) == Image(1, 1));
  CHECK_THROWS_WITH_AS((void)gaussian_filter(image, 4, 1),
                       "gaussian_filter: got 4 taps, expected an odd number", Error);
  CHECK_THROWS_AS((void)gaussian_filter(image, 3, 0), Error);
}

TEST_CASE("blend wants images of one size") {
  CHECK(blend(flat(10), flat(20), 0.25) == flat(12));
  CHECK(blend(flat(10), flat(20), -2) == flat(0));
  CHECK_THROWS_AS((void)blend(flat(1), Image(2, 2), 0.5), Error);
}

TEST_CASE("padding repeats, mirrors or fills") {
  const Image image = tests::sample_image();  // 11 x 13
  const PixelBox box{-2, 12, -3, 15};
  const Image edge = crop(image, box, Padding::edge), mirror = crop(image, box, Padding::reflect);
  CHECK(std::equal(edge.at(0, 0), edge.at(0, 1), image.at(0, 0)));
  CHECK(std::equal(edge.at(13, 17), edge.at(13, 18), image.at(10, 12)));
  CHECK(std::equal(mirror.at(0, 0), mirror.at(0, 1), image.at(2, 3)));
  CHECK(std::equal(mirror.at(13, 17), mirror.at(13, 18), image.at(9, 10)));
  const Image far = crop(crop(image, 0, 0, {1, 2}), {0, 1, -4, 4}, Padding::reflect);
  CHECK(std::equal(far.at(0, 0), far.at(0, 1), image.at(0, 0)));  // 0 1 0 1 | 0 1 | 0 1
  CHECK(std::equal(far.at(0, 3), far.at(0, 4), image.at(0, 1)));
  CHECK(padded_center(image, {12, 16}, Padding::constant, {5, 5, 5}) ==
        crop(image, {0, 12, -1, 15}, Padding::constant, Color8{5, 5, 5}));
  CHECK(padded_center(image, {6, 6}, Padding::edge) ==
        crop(image, center_box(image.size(), {6, 6}), Padding::constant));
  CHECK(flip_vertical(flip_vertical(image)) == image);
  CHECK(std::equal(image.at(1, 0), image.at(2, 0), flip_vertical(image).at(9, 0)));
}

TEST_CASE("evaluation's crop modes") {
  const Image image = resize(tests::sample_image(), {60, 90});
  EvaluationTransform options;
  options.size = {32, 32};
  options.crop.mode = CropMode::squash;
  CHECK(evaluation_scale(options) == ImageSize{36, 36});
  CHECK(prepare_for_evaluation(image, options) == crop(resize(image, {36, 36}), 2, 2, {32, 32}));
  options.crop.mode = CropMode::border;
  options.crop.crop_pct = 1;
  const Image bordered = prepare_for_evaluation(image, options);  // 21 x 32 in the middle
  CHECK(crop(bordered, 5, 0, {21, 32}) == resize(image, {21, 32}));
  CHECK(bordered.at(0, 7)[0] == 125);  // round(255 * 0.4914)
  options.crop.mode = CropMode::center;
  const Image small = tests::sample_image();
  CHECK(prepare_for_evaluation(small, options) != resize(small, {32, 32}));
  options.crop.mode = CropMode::automatic;
  CHECK(prepare_for_evaluation(small, options) == resize(small, {32, 32}));
  options.crop.crop_pct = 1.5;
  CHECK_THROWS_AS((void)prepare_for_evaluation(image, options), Error);
}

}  // namespace fovea
