// Drawing of boxes: outlines as pixels; outlines and labels as SVG.
#include "data/figures/boxes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "data/figures/plot.h"
#include "data/figures/svg.h"

namespace fovea {
namespace {

constexpr double kBoxLeastSide = 480;  // of an SVG, in pixels
constexpr double kCharacter = 6.8;     // approximate width of a character at 12 pixels

/// "#rrggbb" -> red, green, blue.
Rgb rgb_of(std::string_view color) {
  Rgb result{};
  for (std::size_t c = 0; c < result.size(); ++c) {
    const char* const digits = color.data() + 1 + 2 * c;
    std::from_chars(digits, digits + 2, result[c], 16);
  }
  return result;
}

/// Hue, saturation and value in [0, 1] -> red, green, blue.
Rgb rgb_of_hue(double hue, double saturation, double value) {
  Rgb color{};
  for (std::size_t c = 0; c < color.size(); ++c) {
    const double place = std::fmod(6 * hue + std::array{5.0, 3.0, 1.0}[c], 6);
    const double dark = std::clamp(std::min(place, 4 - place), 0.0, 1.0);
    color[c] = static_cast<std::uint8_t>(std::lround(255 * value * (1 - saturation * dark)));
  }
  return color;
}

/// Fills the part of the area that lies within the picture.
void fill(Image& picture, const PixelBox& area, const Rgb& color) {
  const std::int64_t bottom = std::min(area.bottom, picture.height),
                     right = std::min(area.right, picture.width);
  for (std::int64_t y = std::max<std::int64_t>(area.top, 0); y < bottom; ++y) {
    for (std::int64_t x = std::max<std::int64_t>(area.left, 0); x < right; ++x)
      std::copy(color.begin(), color.end(), picture.at(y, x));
  }
}

void draw_box(Image& picture, const ShownBox& box) {
  const std::int64_t thick = 1 + std::max(picture.height, picture.width) / 320;
  const Rgb color = class_color(box.color);
  const auto left = std::llround(box.x), top = std::llround(box.y);
  const auto right = std::max(left + thick, std::llround(box.x + box.width)),
             bottom = std::max(top + thick, std::llround(box.y + box.height));
  fill(picture, {top, top + thick, left, right}, color);
  fill(picture, {bottom - thick, bottom, left, right}, color);
  fill(picture, {top, bottom, left, left + thick}, color);
  fill(picture, {top, bottom, right - thick, right}, color);
}

void add_label(Svg& svg, const ShownBox& box, const SvgBox& frame) {
  if (box.label.empty()) return;
  constexpr double kHeight = 16;
  const double y = frame.y >= kHeight ? frame.y - kHeight : frame.y;
  svg.rect({frame.x, y, kCharacter * static_cast<double>(box.label.size()) + 6, kHeight},
           hex(class_color(box.color)));
  svg.text(frame.x + 3, y + 12, box.label, {.anchor = "start", .color = "#ffffff", .bold = true});
}

}  // namespace

Rgb class_color(std::size_t index) {
  struct Shade {
    double saturation, value;
  };
  constexpr std::size_t kChartColors = 6;
  constexpr std::array<Shade, 4> kShades{{{0.9, 0.85}, {0.55, 0.6}, {1, 0.45}, {0.45, 0.95}}};
  constexpr double kGoldenAngle = 0.6180339887;  // of a turn
  constexpr double kFirstHue = 0.18;             // keeps away from the charts' colours
  if (index < kChartColors) return rgb_of(chart_color(index));
  const std::size_t k = index - kChartColors;
  const auto& [saturation, value] = kShades[k % kShades.size()];
  return rgb_of_hue(std::fmod(kFirstHue + kGoldenAngle * static_cast<double>(k), 1), saturation,
                    value);
}

void draw_boxes(Image& picture, std::span<const ShownBox> boxes) {
  require_rgb8(picture, "draw_boxes");
  for (auto box = boxes.rbegin(); box != boxes.rend(); ++box) draw_box(picture, *box);
}

std::string svg_of_boxes(const Image& picture, std::span<const ShownBox> boxes) {
  const auto width = static_cast<double>(picture.width),
             height = static_cast<double>(picture.height);
  const double scale = std::max(1.0, kBoxLeastSide / std::max(width, height));
  Svg svg(width * scale, height * scale);
  svg.image({0, 0, width * scale, height * scale}, encode_png(picture));
  for (auto box = boxes.rbegin(); box != boxes.rend(); ++box) {
    const SvgBox frame{box->x * scale, box->y * scale, box->width * scale, box->height * scale};
    svg.frame(frame, hex(class_color(box->color)), 2);
    add_label(svg, *box, frame);
  }
  return std::move(svg).finish();
}

}  // namespace fovea
