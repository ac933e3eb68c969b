// Drawing of boxes: outlines and labels, as pixels and as SVG.
#include "data/figures/boxes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "data/figures/label_places.h"
#include "data/figures/pixel_text.h"
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

void draw_box(Image& picture, const ShownBox& box) {
  const std::int64_t thick = 1 + std::max(picture.height, picture.width) / 320;
  const Rgb color = class_color(box.color);
  const auto left = std::llround(box.x), top = std::llround(box.y);
  const auto right = std::max(left + thick, std::llround(box.x + box.width)),
             bottom = std::max(top + thick, std::llround(box.y + box.height));
  fill_box(picture, {top, top + thick, left, right}, color);
  fill_box(picture, {bottom - thick, bottom, left, right}, color);
  fill_box(picture, {top, bottom, left, left + thick}, color);
  fill_box(picture, {top, bottom, right - thick, right}, color);
}

/// The places of the boxes' labels in a picture that is `scale` times as large.
template <class Width>
std::vector<std::optional<SvgBox>> places_of(std::span<const ShownBox> boxes, double scale,
                                             const SvgBox& picture, double height,
                                             const Width& width_of) {
  std::vector<LabelledFrame> frames;
  for (const ShownBox& box : boxes) {
    frames.push_back({{box.x * scale, box.y * scale, box.width * scale, box.height * scale},
                      box.label.empty() ? 0.0 : width_of(box.label)});
  }
  return label_places(frames, height, picture);
}

void draw_labels(Image& picture, std::span<const ShownBox> boxes) {
  const std::int64_t scale = 1 + std::max(picture.height, picture.width) / 960;
  const auto height = static_cast<double>(kLineHeight * scale);
  const SvgBox whole{0, 0, static_cast<double>(picture.width), static_cast<double>(picture.height)};
  const auto width_of = [&](const std::string& label) {
    return static_cast<double>(text_width(label, scale) + scale);
  };
  const auto places = places_of(boxes, 1, whole, height, width_of);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!places[i]) continue;
    const auto left = std::llround(places[i]->x), top = std::llround(places[i]->y);
    fill_box(picture, {top, top + kLineHeight * scale, left, left + std::llround(places[i]->width)},
             class_color(boxes[i].color));
    draw_text(picture, top, left + scale, boxes[i].label, {.scale = scale});
  }
}

void add_labels(Svg& svg, std::span<const ShownBox> boxes, double scale, const SvgBox& picture) {
  constexpr double kHeight = 16;
  const auto width_of = [](const std::string& label) {
    return kCharacter * static_cast<double>(label.size()) + 6;
  };
  const auto places = places_of(boxes, scale, picture, kHeight, width_of);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!places[i]) continue;
    svg.rect(*places[i], hex(class_color(boxes[i].color)));
    svg.text(places[i]->x + 3, places[i]->y + 12, boxes[i].label,
             {.anchor = "start", .color = "#ffffff", .bold = true});
  }
}

/// How many times as large as the picture a drawing is, so that labels can be read.
double scale_for_labels(const Image& picture) {
  const auto side = static_cast<double>(std::max(picture.height, picture.width));
  return std::max(1.0, kBoxLeastSide / side);
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
  draw_labels(picture, boxes);
}

std::string svg_of_boxes(const Image& picture, std::span<const ShownBox> boxes) {
  const double scale = scale_for_labels(picture);
  const SvgBox whole{0, 0, static_cast<double>(picture.width) * scale,
                     static_cast<double>(picture.height) * scale};
  Svg svg(whole.width, whole.height);
  svg.image(whole, encode_png(picture));
  for (auto box = boxes.rbegin(); box != boxes.rend(); ++box) {
    svg.frame({box->x * scale, box->y * scale, box->width * scale, box->height * scale},
              hex(class_color(box->color)), 2);
  }
  add_labels(svg, boxes, scale, whole);
  return std::move(svg).finish();
}

Image image_of_boxes(const Image& picture, std::span<const ShownBox> boxes) {
  const auto factor = static_cast<std::int64_t>(std::ceil(scale_for_labels(picture)));
  const auto scale = static_cast<double>(factor);
  std::vector<ShownBox> scaled(boxes.begin(), boxes.end());
  for (ShownBox& box : scaled)
    for (double* value : {&box.x, &box.y, &box.width, &box.height}) *value *= scale;
  Image drawn = factor == 1 ? picture : enlarged(picture, factor);
  draw_boxes(drawn, scaled);
  return drawn;
}

}  // namespace fovea
