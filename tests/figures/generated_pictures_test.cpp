// Generated images as pictures: the official rounding, and grids.
#include "data/figures/generated_pictures.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/temporary_folder.h"

using namespace fovea;

TEST_CASE("127.5 x + 128, clipped, with the fraction cut off") {
  // Levels of torch.clamp(127.5 * x + 128, 0, 255).to(torch.uint8).
  const std::vector<std::pair<double, int>> levels = {
      {-1, 0},    {-2, 0},     {0, 128},    {1, 255},      {5, 255},     {0.5, 191},
      {-0.5, 64}, {0.99, 254}, {-0.999, 0}, {0.0039, 128}, {0.008, 129}, {-0.001, 127}};
  Tensor images = zeros({2, 3, 1, static_cast<std::int64_t>(levels.size())});
  const auto width = static_cast<std::int64_t>(levels.size());
  for (std::int64_t x = 0; x < width; ++x) {  // second image, green
    images.data<float>()[(3 + 1) * width + x] = static_cast<float>(levels[x].first);
  }
  const std::vector<Image> pictures = generated_pictures(images);
  REQUIRE(pictures.size() == 2);
  for (std::int64_t x = 0; x < width; ++x) {
    CAPTURE(levels[x].first);
    CHECK(pictures[1].at(0, x)[1] == levels[x].second);
    CHECK(pictures[1].at(0, x)[0] == 128);
    CHECK(pictures[0].at(0, x)[1] == 128);
  }
  CHECK(contains(message_of([] {
                   (void)generated_pictures(full({1, 3, 2, 2}, std::nan("")));
                 }),
                 "not finite"));
  CHECK(contains(message_of([] { (void)generated_pictures(zeros({1, 4, 2, 2})); }), "[B, 3, H"));
}

TEST_CASE("a grid fills rows, with gaps") {
  std::vector<Image> pictures;
  for (int i = 0; i < 3; ++i) {
    Image image(2, 1);
    for (auto& value : image.pixels) value = static_cast<std::uint8_t>(10 + i);
    pictures.push_back(image);
  }
  const Image grid = picture_grid(pictures, 2, 1);
  CHECK(grid.size() == ImageSize{5, 3});
  CHECK(grid.at(0, 0)[0] == 10);
  CHECK(grid.at(0, 1)[0] == 0);
  CHECK(grid.at(1, 2)[2] == 11);
  CHECK(grid.at(2, 0)[0] == 0);
  CHECK(grid.at(4, 0)[0] == 12);
  CHECK(grid.at(4, 2)[0] == 0);
  CHECK(picture_grid(pictures, 8, 0).size() == ImageSize{2, 3});
}
