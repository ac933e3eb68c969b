// Boxes on pictures: which pixels are drawn, and the SVG.
#include "data/figures/boxes.h"

#include <doctest/doctest.h>

#include <array>

namespace fovea {
namespace {

using Pixel = std::array<int, 3>;

Pixel pixel(const Image& image, std::int64_t y, std::int64_t x) {
  const std::uint8_t* p = image.at(y, x);
  return {p[0], p[1], p[2]};
}

constexpr Pixel kBlack{0, 0, 0}, kFirst{0, 0x72, 0xb2}, kSecond{0xd5, 0x5e, 0};

}  // namespace

TEST_CASE("the outline of a box lies inside of it, in the colour of its class") {
  Image picture(10, 12);
  draw_boxes(picture, std::vector<ShownBox>{{2, 3, 5, 4, 0, ""}});
  for (const auto& [y, x] : {std::pair(3, 2), {3, 6}, {6, 2}, {6, 6}, {5, 2}, {3, 4}})
    CHECK(pixel(picture, y, x) == kFirst);
  for (const auto& [y, x] : {std::pair(2, 2), {3, 1}, {7, 2}, {3, 7}, {4, 3}, {5, 5}})
    CHECK(pixel(picture, y, x) == kBlack);
}

TEST_CASE("the first box is on top; boxes beyond the picture are cut") {
  Image picture(6, 6);
  draw_boxes(picture, std::vector<ShownBox>{{1, 1, 3, 3, 1, ""}, {-4, 1, 20, 30, 0, ""}});
  CHECK(pixel(picture, 1, 1) == kSecond);
  CHECK(pixel(picture, 1, 0) == kFirst);
  CHECK(pixel(picture, 1, 5) == kFirst);
  CHECK(pixel(picture, 5, 5) == kBlack);
}

TEST_CASE("an SVG has an outline and a label per box, escaped, and is large enough to read") {
  const Image picture(24, 48);
  const std::string svg = svg_of_boxes(
      picture, std::vector<ShownBox>{{2, 3, 5, 4, 0, "cat & dog 0.93"}, {1, 1, 2, 2, 1, ""}});
  CHECK(svg.find("cat &amp; dog 0.93") != std::string::npos);
  CHECK(svg.find("width=\"480\"") != std::string::npos);
  CHECK(svg.find("#0072b2") != std::string::npos);
  CHECK(svg.find("#d55e00") != std::string::npos);
}

TEST_CASE("each class has a colour of its own") {
  constexpr std::size_t kClasses = 91;  // COCO's
  for (std::size_t a = 0; a < kClasses; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      CAPTURE(a);
      CAPTURE(b);
      int apart = 0;
      for (std::size_t c = 0; c < 3; ++c)
        apart = std::max(apart, std::abs(class_color(a)[c] - class_color(b)[c]));
      CHECK(apart >= 8);
    }
  }
  CHECK(class_color(0) == Rgb{0x00, 0x72, 0xb2});
}

}  // namespace fovea
