// Pictures of depth: colours, and the scale.
#include "data/figures/depth_figure.h"

#include <doctest/doctest.h>

#include "data/figures/colormap.h"

namespace fovea {

TEST_CASE("colours go from 0 to the largest depth; unknown pixels are grey") {
  const std::vector<double> metres{0, 2, 4, 1};
  const Image image = colored_depth({metres, {2, 2}}, 4);
  const auto color = [&](std::int64_t y, std::int64_t x) {
    return Rgb{image.at(y, x)[0], image.at(y, x)[1], image.at(y, x)[2]};
  };
  CHECK(color(0, 0)[0] == color(0, 0)[1]);
  CHECK(color(0, 0)[1] == color(0, 0)[2]);
  CHECK(color(0, 1) == color_at(Palette::viridis, 0.5));
  CHECK(color(1, 0) == color_at(Palette::viridis, 1));
  CHECK(color(1, 1) == color_at(Palette::viridis, 0.25));
}

TEST_CASE("the figure has a scale from 0 past the largest depth, in metres") {
  const std::vector<double> metres{0.5, 2, 4.7, 1};
  const std::string svg = svg_of_depth(Image(2, 2), {metres, {2, 2}});
  CHECK(svg.find(">0 m<") != std::string::npos);
  CHECK(svg.find(">5 m<") != std::string::npos);
}

TEST_CASE("below pictures: the colours from 0 to the largest depth, and their metres") {
  const Image pictures(20, 200);
  const Image scaled = with_depth_scale(pictures, 4);
  CHECK(scaled.width == 200);
  REQUIRE(scaled.height > 20 + 20);
  const auto color = [&](std::int64_t x) {
    const std::uint8_t* const p = scaled.at(20 + 6, x);
    return Rgb{p[0], p[1], p[2]};
  };
  CHECK(color(8) == color_at(Palette::viridis, 0));
  CHECK(color(191) == color_at(Palette::viridis, 1));
  int letters = 0;
  for (std::int64_t x = 0; x < 200; ++x) letters += scaled.at(scaled.height - 6, x)[0] > 0;
  CHECK(letters > 5);
  const std::vector<double> metres{0.5, 2, 4.7, 1};
  const Image figure = image_of_depth(Image(2, 2), {metres, {2, 2}});
  CHECK(figure.width == 2 * 240 + 2);
}

}  // namespace fovea
