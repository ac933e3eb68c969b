// Rounds numbers where the authors' code rounds them.
#include "data/geometry/detr_resize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr std::int64_t kMaxLongSide = 1333, kMinCrop = 384, kMaxCrop = 600;
constexpr std::array<std::int64_t, 11> kSides = {480, 512, 544, 576, 608, 640,
                                                 672, 704, 736, 768, 800};
constexpr std::array<std::int64_t, 3> kFirstSides = {400, 500, 600};

/// One of DETR's numbers for images of `side` instead of 800 pixels.
std::int64_t scaled(std::int64_t number, std::int64_t side) {
  return std::max<std::int64_t>(1, (number * side + kDetrSide / 2) / kDetrSide);
}

template <std::size_t count>
std::int64_t one_of(const std::array<std::int64_t, count>& numbers, Rng& rng) {
  return numbers[static_cast<std::size_t>(rng.below(std::ssize(numbers)))];
}

std::int64_t draw_between(std::int64_t least, std::int64_t most, Rng& rng) {
  return least + rng.below(most - least + 1);
}

PixelBox draw_crop(ImageSize image, std::int64_t side, Rng& rng) {
  const auto draw_side = [&](std::int64_t whole) {
    const std::int64_t most = std::min(whole, scaled(kMaxCrop, side));
    return draw_between(std::min(most, scaled(kMinCrop, side)), most, rng);
  };
  const std::int64_t width = draw_side(image.width), height = draw_side(image.height);
  const std::int64_t top = rng.below(image.height - height + 1);
  const std::int64_t left = rng.below(image.width - width + 1);
  return {top, top + height, left, left + width};
}

/// The size with the shorter side at `shorter`, and the longer one limited for images of `side`. Of
/// a very long image the shorter side stays at one pixel and the longer one beyond its limit. Eight
/// times that is refused: the whole batch would be padded to it.
ImageSize limited_size(ImageSize image, std::int64_t shorter, std::int64_t side) {
  constexpr std::int64_t kMostBeyond = 8;
  const std::int64_t longest = longest_detr_side(side);
  const ImageSize size = short_side_size(image, shorter, longest);
  if (std::max(size.height, size.width) <= kMostBeyond * longest) return size;
  throw ImageError("is " + to_string(image) + " (height x width), too long for a longer side of " +
                   std::to_string(longest) + " pixels");
}

}  // namespace

std::int64_t longest_detr_side(std::int64_t side) { return scaled(kMaxLongSide, side); }

ImageSize short_side_size(ImageSize image, std::int64_t side, std::int64_t longest) {
  check(side >= 1, "short_side_size: got a side of ", side, ", expected 1 or more");
  const auto least = static_cast<double>(std::min(image.height, image.width));
  const auto most = static_cast<double>(std::max(image.height, image.width));
  if (longest > 0 && most / least * static_cast<double>(side) > static_cast<double>(longest)) {
    const double limited = std::nearbyint(static_cast<double>(longest) * least / most);
    side = std::max<std::int64_t>(1, static_cast<std::int64_t>(limited));
  }
  const auto other = static_cast<std::int64_t>(static_cast<double>(side) * most / least);
  return image.width < image.height ? ImageSize{other, side} : ImageSize{side, other};
}

std::vector<Geometry> detr_moves(ImageSize image, std::int64_t side, Filter filter) {
  return {geometry::Resize{limited_size(image, side, side), filter}};
}

std::vector<Geometry> draw_detr_moves(ImageSize image, std::int64_t side, Filter filter, Rng& rng) {
  std::vector<Geometry> moves;
  if (rng.uniform() >= 0.5) {
    const ImageSize first = short_side_size(image, scaled(one_of(kFirstSides, rng), side), 0);
    const PixelBox part = draw_crop(first, side, rng);
    moves = {geometry::Resize{first, filter}, geometry::Crop{part}};
    image = part.size();
  }
  const std::int64_t last = scaled(one_of(kSides, rng), side);
  moves.push_back(geometry::Resize{limited_size(image, last, side), filter});
  return moves;
}

}  // namespace fovea
