// Moves targets with their images; transforms.cpp and affine.cpp move the pixels.
//
// Compiled without fused multiply-add (CMakeLists.txt): rotation maps are bit-identical with
// Pillow.
#include "data/geometry/geometry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "data/augment/affine_sample.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

/// Python's round(x, 15): the nearest decimal with 15 places, then the nearest double.
double round15(double x) {
  std::array<char, 64> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::fixed, 15);
  double value = 0;
  std::from_chars(text.data(), end.ptr, value);
  return value;
}

AffineMap rotation_map(ImageSize size, double degrees) {
  const double radians = -(degrees * (std::numbers::pi / 180));
  const double cosine = round15(std::cos(radians)), sine = round15(std::sin(radians));
  const double center_x = static_cast<double>(size.width) / 2;
  const double center_y = static_cast<double>(size.height) / 2;
  AffineMap map{cosine, sine, 0, round15(-std::sin(radians)), cosine, 0};
  const PixelPoint around = apply(map, -center_x, -center_y);
  map.x0 = around.x + center_x;
  map.y0 = around.y + center_y;
  return map;
}

/// A colour in the format of the image.
PixelBytes fill_of(PixelFormat format, const Color8& color) {
  return format == PixelFormat{} ? PixelBytes(color) : PixelBytes();
}

/// The bounding box of the points.
ObjectBox bounding(std::int64_t label, const std::array<PixelPoint, 4>& points) {
  ObjectBox box{HUGE_VALF, HUGE_VALF, -HUGE_VALF, -HUGE_VALF, label};
  for (const PixelPoint& point : points) {
    const auto x = static_cast<float>(point.x), y = static_cast<float>(point.y);
    box = {std::min(box.x0, x), std::min(box.y0, y), std::max(box.x1, x), std::max(box.y1, y),
           label};
  }
  return box;
}

/// Moves a box by a map that reads from the source, that is, by its inverse.
ObjectBox through(const ObjectBox& box, const AffineMap& map) {
  constexpr double kMinDeterminant = 1e-9;
  const double determinant = map.xx * map.yy - map.xy * map.yx;
  if (std::abs(determinant) < kMinDeterminant) return {0, 0, 0, 0, box.label};
  const auto back = [&](float x, float y) {
    const double u = static_cast<double>(x) - map.x0, v = static_cast<double>(y) - map.y0;
    return PixelPoint{(map.yy * u - map.xy * v) / determinant,
                      (map.xx * v - map.yx * u) / determinant};
  };
  return bounding(box.label, {back(box.x0, box.y0), back(box.x1, box.y0), back(box.x0, box.y1),
                              back(box.x1, box.y1)});
}

ObjectBox turned(const ObjectBox& box, int quarters, ImageSize size) {
  const auto width = static_cast<float>(size.width), height = static_cast<float>(size.height);
  switch ((quarters % 4 + 4) % 4) {
    case 1:  // the right side becomes the top
      return {box.y0, width - box.x1, box.y1, width - box.x0, box.label};
    case 2:
      return {width - box.x1, height - box.y1, width - box.x0, height - box.y0, box.label};
    case 3:
      return {height - box.y1, box.x0, height - box.y0, box.x1, box.label};
    default:
      return box;
  }
}

/// The box clipped to the image; empty if the rest is too small.
std::optional<ObjectBox> clipped(ObjectBox box, ImageSize size) {
  const auto width = static_cast<float>(size.width), height = static_cast<float>(size.height);
  box.x0 = std::clamp(box.x0, 0.0F, width);
  box.x1 = std::clamp(box.x1, 0.0F, width);
  box.y0 = std::clamp(box.y0, 0.0F, height);
  box.y1 = std::clamp(box.y1, 0.0F, height);
  if (box.width() < kMinBoxSide || box.height() < kMinBoxSide) return std::nullopt;
  return box;
}

std::vector<ObjectBox> moved_boxes(const std::vector<ObjectBox>& boxes, const Geometry& move,
                                   ImageSize from) {
  std::vector<ObjectBox> result;
  for (const ObjectBox& box : boxes)
    if (const auto seen = clipped(moved(box, move, from), moved_size(move, from)))
      result.push_back(*seen);
  return result;
}

void check_size(const DenseMap& map, ImageSize image) {
  check(map.values.size() == image, "geometry: the map \"", map.name, "\" is ",
        to_string(map.values.size()), ", expected the size of its image, ", to_string(image));
}

Sample resized_and_cropped(Sample sample, const geometry::Resize& resize,
                           const geometry::Crop& crop) {
  const ImageSize from = sample.image.size();
  sample.image = resized_part(sample.image, resize.size, resize.filter, crop.box, crop.padding,
                              fill_of(sample.image.format, crop.fill));
  auto& [boxes, maps] = sample.targets;
  if (boxes) boxes = moved_boxes(moved_boxes(*boxes, resize, from), crop, resize.size);
  for (DenseMap& map : maps) {
    check_size(map, from);
    map.values = resized_part(map.values, resize.size, map.filter, crop.box, crop.padding,
                              pixel_of(map.values.format, map.outside));
  }
  return sample;
}

}  // namespace

Geometry rotation(ImageSize size, double degrees, const Sampling& sampling) {
  check(std::isfinite(degrees), "rotate: got ", degrees, " degrees, expected a finite number");
  double angle = std::fmod(degrees, 360.0);
  if (angle < 0) angle += 360;
  if (angle == 0) return geometry::Turn{0};
  if (angle == 180) return geometry::Turn{2};
  const bool quarter = angle == 90 || angle == 270;
  if (quarter && size.width == size.height) return geometry::Turn{angle == 90 ? 1 : 3};
  return geometry::AffineWarp{rotation_map(size, angle), sampling};
}

Geometry shear_x(double factor, const Sampling& sampling) {
  AffineMap map;
  map.xy = factor;
  return geometry::AffineWarp{map, sampling};
}

Geometry shear_y(double factor, const Sampling& sampling) {
  AffineMap map;
  map.yx = factor;
  return geometry::AffineWarp{map, sampling};
}

Geometry translation(double right, double down, const Sampling& sampling) {
  AffineMap map;
  map.x0 = right;
  map.y0 = down;
  return geometry::AffineWarp{map, sampling};
}

ImageSize moved_size(const Geometry& move, ImageSize from) {
  if (const auto* crop = std::get_if<geometry::Crop>(&move)) return crop->box.size();
  if (const auto* resize = std::get_if<geometry::Resize>(&move)) return resize->size;
  return from;
}

Image moved(Image image, const Geometry& move) {
  return std::visit(
      Overloaded{
          [&](const geometry::Crop& m) {
            return crop(image, m.box, m.padding, fill_of(image.format, m.fill));
          },
          [&](const geometry::Resize& m) { return resized(std::move(image), m.size, m.filter); },
          [&](const geometry::Flip& m) {
            return m.vertical ? flip_vertical(std::move(image)) : flip_horizontal(std::move(image));
          },
          [&](const geometry::Turn& m) {
            return m.quarters == 0 ? std::move(image) : turn(image, m.quarters);
          },
          [&](const geometry::AffineWarp& m) {
            return transform(image, m.map, m.sampling.filter,
                             fill_of(image.format, m.sampling.fill));
          }},
      move);
}

DenseMap moved(DenseMap map, const Geometry& move) {
  const std::vector<std::uint8_t> outside = pixel_of(map.values.format, map.outside);
  if (const auto* m = std::get_if<geometry::Crop>(&move)) {
    map.values = crop(map.values, m->box, m->padding, outside);
  } else if (const auto* r = std::get_if<geometry::Resize>(&move)) {
    map.values = resized(std::move(map.values), r->size, map.filter);
  } else if (const auto* a = std::get_if<geometry::AffineWarp>(&move)) {
    map.values = transform(map.values, a->map, map.filter, outside);
  } else {
    map.values = moved(std::move(map.values), move);
  }
  return map;
}

ObjectBox moved(const ObjectBox& box, const Geometry& move, ImageSize from) {
  const auto width = static_cast<float>(from.width), height = static_cast<float>(from.height);
  return std::visit(
      Overloaded{
          [&](const geometry::Crop& m) {
            const auto left = static_cast<float>(m.box.left), top = static_cast<float>(m.box.top);
            return ObjectBox{box.x0 - left, box.y0 - top, box.x1 - left, box.y1 - top, box.label};
          },
          [&](const geometry::Resize& m) {
            const float wide = static_cast<float>(m.size.width) / width;
            const float tall = static_cast<float>(m.size.height) / height;
            return ObjectBox{box.x0 * wide, box.y0 * tall, box.x1 * wide, box.y1 * tall, box.label};
          },
          [&](const geometry::Flip& m) {
            if (m.vertical)
              return ObjectBox{box.x0, height - box.y1, box.x1, height - box.y0, box.label};
            return ObjectBox{width - box.x1, box.y0, width - box.x0, box.y1, box.label};
          },
          [&](const geometry::Turn& m) { return turned(box, m.quarters, from); },
          [&](const geometry::AffineWarp& m) { return through(box, m.map); }},
      move);
}

ImageTargets moved(ImageTargets targets, const Geometry& move, ImageSize from) {
  if (targets.boxes) targets.boxes = moved_boxes(*targets.boxes, move, from);
  for (DenseMap& map : targets.maps) {
    check_size(map, from);
    map = moved(std::move(map), move);
  }
  return targets;
}

Sample moved(Sample sample, const Geometry& move) {
  const ImageSize from = sample.image.size();
  sample.image = moved(std::move(sample.image), move);
  if (!sample.targets.empty()) sample.targets = moved(std::move(sample.targets), move, from);
  return sample;
}

Sample moved(Sample sample, const std::vector<Geometry>& moves) {
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const auto* resize = std::get_if<geometry::Resize>(&moves[i]);
    const auto* crop = i + 1 < moves.size() ? std::get_if<geometry::Crop>(&moves[i + 1]) : nullptr;
    if (resize != nullptr && crop != nullptr) {
      sample = resized_and_cropped(std::move(sample), *resize, *crop);
      ++i;
    } else {
      sample = moved(std::move(sample), moves[i]);
    }
  }
  return sample;
}

}  // namespace fovea
