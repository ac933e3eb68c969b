// ADM's centre crop.
#include "data/geometry/adm_crop.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// Python's round(): half to even.
std::int64_t rounded(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

}  // namespace

std::vector<Geometry> adm_crop_moves(ImageSize image, std::int64_t side) {
  std::vector<Geometry> moves;
  while (std::min(image.height, image.width) >= 2 * side) {
    image = {image.height / 2, image.width / 2};
    moves.emplace_back(geometry::Resize{image, Filter::box});
  }
  const double scale =
      static_cast<double>(side) / static_cast<double>(std::min(image.height, image.width));
  image = {rounded(static_cast<double>(image.height) * scale),
           rounded(static_cast<double>(image.width) * scale)};
  moves.emplace_back(geometry::Resize{image, Filter::bicubic});
  const std::int64_t top = (image.height - side) / 2, left = (image.width - side) / 2;
  moves.emplace_back(geometry::Crop{PixelBox{top, top + side, left, left + side}});
  return moves;
}

std::int64_t square_side(ImageSize size) {
  check(size.height == size.width, "crop mode adm: got images of ", to_string(size),
        ", expected squares");
  return size.height;
}

}  // namespace fovea
