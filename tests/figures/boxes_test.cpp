// Boxes on pictures: which pixels are drawn, and the SVG.
#include "data/figures/boxes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "data/figures/label_places.h"
#include "data/figures/pixel_text.h"

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

TEST_CASE("labels do not cover each other, and those without room are left out") {
  std::vector<LabelledFrame> frames;
  for (int i = 0; i < 12; ++i) frames.push_back({{20.0 + i, 20.0 + i, 30, 30}, 60});
  const SvgBox picture{0, 0, 100, 100};
  const auto places = label_places(frames, 16, picture);
  int placed = 0;
  for (std::size_t a = 0; a < places.size(); ++a) {
    if (!places[a]) continue;
    ++placed;
    CHECK(places[a]->x >= 0);
    CHECK(places[a]->x + places[a]->width <= 100);
    CHECK(places[a]->y >= 0);
    CHECK(places[a]->y + places[a]->height <= 100);
    for (std::size_t b = 0; b < a; ++b) {
      if (!places[b]) continue;
      CAPTURE(a);
      CAPTURE(b);
      CHECK((places[a]->y >= places[b]->y + 16 || places[b]->y >= places[a]->y + 16));
    }
  }
  CHECK(placed >= 4);
  CHECK(placed < 12);
  CHECK(places[0]->y == 4);  // above its frame
  CHECK_FALSE(label_places(std::vector<LabelledFrame>{{{0, 0, 9, 9}, 0}}, 16, picture)[0]);
}

TEST_CASE("as pixels: the picture enlarged by a whole number, boxes and labels in their colours") {
  Image grey(24, 48);
  std::fill(grey.pixels.begin(), grey.pixels.end(), std::uint8_t{100});
  const Image drawn = image_of_boxes(grey, std::vector<ShownBox>{{20, 10, 20, 10, 1, "cat"}});
  CHECK(drawn.size() == ImageSize{240, 480});
  CHECK(pixel(drawn, 100, 200) == kSecond);      // the frame's corner
  CHECK(pixel(drawn, 99, 200 + 18) == kSecond);  // the label above it, three letters wide
  CHECK(pixel(drawn, 95, 200 + 40) == Pixel{100, 100, 100});
  int white = 0;
  for (std::int64_t y = 91; y < 100; ++y)
    for (std::int64_t x = 200; x < 220; ++x) white += pixel(drawn, y, x) == Pixel{255, 255, 255};
  CHECK(white > 20);
  CHECK(white < 80);
}

TEST_CASE("letters: their pixels, and what is no ASCII") {
  Image picture(9, 12);
  draw_text(picture, 0, 0, "I");
  std::string rows;
  for (std::int64_t y = 0; y < 9; ++y) {
    for (std::int64_t x = 0; x < 6; ++x) rows += picture.at(y, x)[0] > 0 ? '#' : '.';
    rows += '\n';
  }
  CHECK(rows == "......\n.###..\n..#...\n..#...\n..#...\n..#...\n..#...\n.###..\n......\n");
  Image unknown(9, 6), question(9, 6);
  draw_text(unknown, 0, 0, "\u00e9");
  draw_text(question, 0, 0, "?");
  CHECK(unknown == question);
  CHECK(text_width("caf\u00e9", 2) == 4 * 6 * 2);
  draw_text(picture, -3, 8, "wide text beyond the edge", {.scale = 3});  // is cut
}

TEST_CASE("captions: tiles grow for long names, which take a second line") {
  const std::vector<Image> tiles(2, Image(10, 32));
  const auto size_for = [&](const std::string& longer) {
    return captioned(tiles, std::vector<std::string>{"name", longer}).back().size();
  };
  CHECK(size_for("ten letter") == ImageSize{20 + 9, 64});
  CHECK(size_for("two such wo rds") == ImageSize{20 + 18, 64});
  CHECK(size_for("checkerboard and ten") == ImageSize{30 + 18, 96});
  CHECK(size_for("horizontal stripes+vertical stripes") == ImageSize{40 + 18, 128});
  CHECK(size_for(std::string(200, 'x')) == ImageSize{40 + 18, 128});  // is cut
  const Image broken = captioned(tiles, std::vector<std::string>{"name", "two such wo rds"}).back();
  const Image first = captioned(tiles, std::vector<std::string>{"name", "two such"}).back();
  for (std::int64_t y = 20; y < 29; ++y)
    for (std::int64_t x = 0; x < 64; ++x) CHECK(pixel(broken, y, x) == pixel(first, y, x));
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
