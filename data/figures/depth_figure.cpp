// Pictures of depth.
#include "data/figures/depth_figure.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "data/figures/axis.h"
#include "data/figures/colormap.h"
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
