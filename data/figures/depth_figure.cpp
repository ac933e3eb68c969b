// Pictures of depth.
#include "data/figures/depth_figure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "data/figures/axis.h"
#include "data/figures/colormap.h"
#include "data/figures/generated_pictures.h"
#include "data/figures/pixel_text.h"
#include "data/figures/svg.h"

namespace fovea {
namespace {

constexpr double kSide = 320, kMargin = 16, kBar = 14, kLabels = 60;

/// A bar of the colours from 0 at the bottom to `axis.high` at the top, with its ticks.
void draw_scale(Svg& svg, const SvgBox& at, const Axis& axis) {
  constexpr int kSteps = 50;
  const double step = at.height / kSteps;
  for (int i = 0; i < kSteps; ++i) {
    const double y = at.y + at.height - step * (i + 1);
    svg.rect({at.x, y, at.width, step + 0.5}, hex(color_at(Palette::viridis, (i + 0.5) / kSteps)));
  }
  for (int i = 0; i < axis.ticks(); ++i) {
    const double y = at.y + at.height * (1 - axis.share(axis.tick(i)));
    svg.text(at.x + at.width + 6, y + 4, tick_label(axis.tick(i), axis.step) + " m",
             {.anchor = "start"});
  }
}

}  // namespace

Image colored_depth(const DepthMap& depth, double most) {
  std::vector<double> values(depth.metres.begin(), depth.metres.end());
  std::replace(values.begin(), values.end(), 0.0, std::numeric_limits<double>::quiet_NaN());
  return paint({.values = values, .width = depth.size.width, .range = {0, most}});
}

Image with_depth_scale(const Image& pictures, double most) {
  constexpr std::int64_t kMargins = 8, kBarHeight = 10, kTickHeight = 3;
  const std::int64_t width = pictures.width - 2 * kMargins;
  Image result(pictures.height + kMargins + kBarHeight + kTickHeight + kLineHeight, pictures.width);
  std::copy(pictures.pixels.begin(), pictures.pixels.end(), result.pixels.begin());
  const std::int64_t top = pictures.height + kMargins / 2, bottom = top + kBarHeight;
  const auto color_column = [&](std::int64_t column, std::int64_t from, std::int64_t to,
                                const Rgb& color) {
    for (std::int64_t y = from; y < to; ++y)
      std::copy(color.begin(), color.end(), result.at(y, kMargins + column));
  };
  for (std::int64_t x = 0; x < width; ++x) {
    const double share = static_cast<double>(x) / static_cast<double>(width - 1);
    color_column(x, top, bottom, color_at(Palette::viridis, share));
  }
  const std::vector<double> within{0, most};
  const Axis axis = axis_around(within, false);
  for (int i = 0; i < axis.ticks(); ++i) {
    const double share = axis.tick(i) / most;
    if (share > 1) break;
    const std::int64_t x = std::llround(share * static_cast<double>(width - 1));
    color_column(x, bottom, bottom + kTickHeight, {255, 255, 255});
    const std::string label = tick_label(axis.tick(i), axis.step) + " m";
    const std::int64_t left = kMargins + x - text_width(label) / 2;
    draw_text(result, bottom + kTickHeight,
              std::clamp<std::int64_t>(left, 0, pictures.width - text_width(label)), label);
  }
  return result;
}

Image image_of_depth(const Image& picture, const DepthMap& depth) {
  constexpr std::int64_t kLeastWidth = 240;
  const double most = std::max(1e-3, *std::ranges::max_element(depth.metres));
  std::vector<Image> beside{picture, colored_depth(depth, most)};
  for (Image& shown : beside) {
    const std::int64_t factor = (kLeastWidth + shown.width - 1) / shown.width;
    if (factor > 1) shown = enlarged(shown, factor);
  }
  return with_depth_scale(picture_grid(beside, 2), most);
}

std::string svg_of_depth(const Image& picture, const DepthMap& depth) {
  std::vector<double> within{0};
  for (const double metres : depth.metres) within.push_back(std::max(metres, 0.0));
  const Axis axis = axis_around(within, false);
  const double height =
      kSide * static_cast<double>(depth.size.height) / static_cast<double>(depth.size.width);
  Svg svg(2 * kSide + 4 * kMargin + kBar + kLabels, height + 2 * kMargin);
  svg.image({kMargin, kMargin, kSide, height}, encode_png(picture));
  svg.image({2 * kMargin + kSide, kMargin, kSide, height},
            encode_png(colored_depth(depth, axis.high)));
  draw_scale(svg, {3 * kMargin + 2 * kSide, kMargin, kBar, height}, axis);
  return std::move(svg).finish();
}

}  // namespace fovea
