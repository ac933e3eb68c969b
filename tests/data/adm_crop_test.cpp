// ADM's centre crop: sizes in between, and the filters.
#include "data/geometry/adm_crop.h"

#include <doctest/doctest.h>

using namespace fovea;

namespace {

struct Moves {
  std::vector<ImageSize> halved;
  ImageSize scaled;
  PixelBox box;
};

Moves moves_of(ImageSize image, std::int64_t side) {
  Moves moves;
  for (const Geometry& move : adm_crop_moves(image, side)) {
    if (const auto* const resize = std::get_if<geometry::Resize>(&move)) {
      if (resize->filter == Filter::box) {
        moves.halved.push_back(resize->size);
      } else {
        CHECK(resize->filter == Filter::bicubic);
        moves.scaled = resize->size;
      }
    } else {
      moves.box = std::get<geometry::Crop>(move).box;
    }
  }
  return moves;
}

}  // namespace

TEST_CASE("an image is halved while its shorter side is at least twice the crop's") {
  CHECK(moves_of({511, 700}, 256).halved.empty());
  CHECK(moves_of({512, 701}, 256).halved == std::vector<ImageSize>{{256, 350}});
  CHECK(moves_of({2000, 1025}, 256).halved == std::vector<ImageSize>{{1000, 512}, {500, 256}});
}

TEST_CASE("the shorter side becomes the crop's, and the centre is taken") {
  const Moves wide = moves_of({300, 401}, 256);
  CHECK(wide.scaled == ImageSize{256, 342});  // 401 * 256 / 300 = 342.2
  CHECK(wide.box.left == 43);
  CHECK(wide.box.right == 43 + 256);
  CHECK(wide.box.top == 0);
  const Moves small = moves_of({20, 10}, 32);  // enlarged
  CHECK(small.scaled == ImageSize{64, 32});
  CHECK(small.box.top == 16);
  CHECK(moves_of({4, 5}, 2).scaled == ImageSize{2, 2});  // halved to 2 x 2 first
}
