// pervit-regions: the ring around the query that each head attends to most (PerViT eq. 11, fig. 5),
// and the rings themselves (fig. A2).
#include <cmath>
#include <numbers>
#include <numeric>

#include "data/figures/plot.h"
#include "data/figures/svg.h"
#include "engine/base/csv.h"
#include "engine/base/text.h"
#include "report/inspect/position_maps.h"

namespace fovea::inspect {
namespace {

/// The colours of the regions; white outside of all.
Rgb region_color(std::size_t ring) {
  constexpr std::array<Rgb, kRegions + 1> kColors = {
      {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}, {255, 255, 255}}};
  return kColors.at(ring);
}

using Counts = std::array<double, kRegions>;

/// A pie chart with the counts next to it.
std::string draw_pie(const Inspection& what, const Counts& counts) {
  constexpr double kCenterX = 150, kCenterY = 200, kRadius = 110;
  Svg svg(600, 340);
  svg.text(20, 24, "Regions of attention heads and layers",
           {.anchor = "start", .size = 15, .bold = true});
  svg.text(20, 46, model_note(what), {.anchor = "start"});
  svg.text(20, 63, "All heads, and the CPE and two MLP layers of each block (central).",
           {.anchor = "start"});
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double angle = -std::numbers::pi / 2;  // from the top, clockwise
  for (std::size_t i = 0; i < kRegions; ++i) {
    const double y = 150 + 28 * static_cast<double>(i);
    svg.rect({300, y - 12, 16, 16}, hex(region_color(i)));
    svg.text(324, y + 1,
             std::string(kRegionNames[i]) + ": " + short_number(counts[i]) + " (" +
                 short_number(100 * counts[i] / total) + " %)",
             {.anchor = "start", .size = 13});
    // SVG draws no arc that ends where it starts, as that of a whole circle would.
    const double share = std::min(counts[i] / total, 0.99999);
    const double end = angle + 2 * std::numbers::pi * share;
    if (counts[i] <= 0) continue;
    const auto point = [&](double a) {
      return Svg::number(kCenterX + kRadius * std::cos(a)) + " " +
             Svg::number(kCenterY + kRadius * std::sin(a));
    };
    // An arc of more than a half turn needs SVG's large-arc flag.
    svg.shape("M " + Svg::number(kCenterX) + " " + Svg::number(kCenterY) + " L " + point(angle) +
                  " A 110 110 0 " + (share > 0.5 ? "1" : "0") + " 1 " + point(end) + " Z",
              hex(region_color(i)));
    angle = end;
  }
  return std::move(svg).finish();
}

/// Stacked bars: number of heads per region and layer.
Chart bars_of(const std::vector<PositionBlock>& blocks) {
  Chart chart;
  chart.title = "Heads by region";
  chart.x_label = "layer";
  chart.y_label = "heads";
  chart.stacked = true;
  for (std::size_t region = 0; region < kRegions; ++region) {
    Series series{std::string(kRegionNames[region]), {}, {}, Mark::bar};
    for (const PositionBlock& block : blocks) {
      double heads = 0;
      for (const PositionHead& head : block.heads) {
        heads += head.regions.region() == static_cast<Region>(region) ? 1 : 0;
      }
      series.x.push_back(static_cast<double>(block.block + 1));
      series.y.push_back(heads);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

void draw_grid(const Inspection& what, OutputFolder& output) {
  TokenLayout layout;
  PatchGrid grid{14, 14, 0};  // of 224 x 224 pixels in patches of 16
  if (what.model != nullptr) {
    layout = token_layout(*what.model);
    grid = {layout.grid_height, layout.grid_width, 0};
  }
  const std::array<double, kRegions> radii = region_radii(grid);
  Image picture(grid.height, grid.width);
  Csv csv("y,x,distance,region");
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    const std::int64_t y = i / grid.width, x = i % grid.width;
    const double distance = std::hypot(static_cast<double>(y - grid.height / 2),
                                       static_cast<double>(x - grid.width / 2));
    const std::size_t ring = ring_of(radii, distance);
    const Rgb color = region_color(ring);
    std::copy(color.begin(), color.end(), picture.at(y, x));
    csv.row(y, x, distance, ring < kRegions ? kRegionNames[ring] : "outside");
  }
  Svg svg(620, 400);
  svg.text(20, 24,
           "Peripheral regions of the central query, " + std::to_string(grid.height) + " x " +
               std::to_string(grid.width) + " patches",
           {.anchor = "start", .size = 15, .bold = true});
  const double scale = 320 / static_cast<double>(std::max(grid.height, grid.width));
  const SvgBox box{20, 50, scale * static_cast<double>(grid.width),
                   scale * static_cast<double>(grid.height)};
  svg.image(box, encode_png(enlarged(picture, static_cast<std::int64_t>(scale))));
  svg.frame(box, "#888888");
  svg.text(20, 390, "radii in patches, from centre to centre", {.anchor = "start"});
  for (std::size_t i = 0; i < kRegions; ++i) {
    const double y = 80 + 28 * static_cast<double>(i);
    svg.rect({364, y - 12, 16, 16}, hex(region_color(i)));
    svg.text(388, y + 1, std::string(kRegionNames[i]) + ", under " + short_number(radii[i]),
             {.anchor = "start", .size = 13});
  }
  output.write("pervit-regions-grid.svg", std::move(svg).finish());
  output.write("pervit-regions-grid.csv", csv.text());
}

}  // namespace

void pervit_regions(const Inspection& what, OutputFolder& output) {
  if (what.options.grid) return draw_grid(what, output);
  const std::vector<PositionBlock> blocks = position_blocks(what);
  constexpr double kCentralLayers = 3;  // per block: the CPE and two MLP layers
  Counts counts{};
  Csv csv("layer,head,region,central,para_central,mid_peripheral,far_peripheral");
  for (const PositionBlock& block : blocks) {
    counts[0] += kCentralLayers;
    for (const PositionHead& head : block.heads) {
      const auto region = static_cast<std::size_t>(head.regions.region());
      const std::array<double, kRegions>& value = head.regions.value;
      counts[region] += 1;
      csv.row(block.block + 1, head.head, kRegionNames[region], value[0], value[1], value[2],
              value[3]);
    }
  }
  const std::vector<Chart> bars{bars_of(blocks)};
  output.write("pervit-regions-pie.svg", draw_pie(what, counts));
  output.write("pervit-regions-bars.svg", svg_of_charts(bars));
  output.write("pervit-regions.csv", csv.text());
}

}  // namespace fovea::inspect
