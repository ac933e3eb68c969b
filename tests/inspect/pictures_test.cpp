// Colours, heat maps and grids of tiles.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "data/figures/colormap.h"
#include "data/figures/plot.h"
#include "data/figures/svg.h"
#include "data/image.h"
#include "engine/base/csv.h"
#include "engine/base/output_folder.h"
#include "report/inspect/tiles.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace {

/// Relative luminance of sRGB.
double luminance(const Rgb& color) {
  const auto linear = [](std::uint8_t c) { return std::pow(c / 255.0, 2.2); };
  return 0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2]);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("viridis gets lighter all the way, the diverging map is lightest in the middle") {
  CHECK(color_at(Palette::viridis, 0) == Rgb{68, 1, 84});
  CHECK(color_at(Palette::viridis, 1) == Rgb{253, 231, 37});
  CHECK(color_at(Palette::viridis, 7) == color_at(Palette::viridis, 1));
  CHECK(color_at(Palette::diverging, 0.5) == Rgb{247, 247, 247});
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    CHECK(luminance(color_at(Palette::viridis, i / 100.0)) <
          luminance(color_at(Palette::viridis, (i + 1) / 100.0)));
    const double away = std::abs(i - 49.5), nearer = std::abs(i + 1 - 49.5);
    if (nearer > away) continue;
    CHECK(luminance(color_at(Palette::diverging, i / 100.0)) <=
          luminance(color_at(Palette::diverging, (i + 1) / 100.0)));
  }
  CHECK(color_at(Palette::viridis, std::nan("")) == Rgb{128, 128, 128});
  CHECK(hex({1, 171, 255}) == "#01abff");
}

TEST_CASE("ranges of values") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {-3, 1, 2, kInf, std::nan("")};
  CHECK(range_of(values).low == -3);
  CHECK(range_of(values).high == 2);
  CHECK(symmetric_range_of(values).high == 3);
  CHECK(symmetric_range_of(std::vector<double>{0, 0}).share(0) == 0.5);
  CHECK(range_of(std::vector<double>{5, 5}).share(5) == 0);
}

TEST_CASE("a heat map's pixels survive the PNG file") {
  const std::vector<double> values = {0, 0.25, 0.5, 1, 0.75, 0.1};
  const Image map = paint({values, 3, {0, 1}, Palette::viridis}, 4);
  CHECK(map.height == 8);
  CHECK(map.width == 12);
  for (std::int64_t y = 0; y < 8; ++y) {
    for (std::int64_t x = 0; x < 12; ++x) {
      const Rgb want =
          color_at(Palette::viridis, values[static_cast<std::size_t>(y / 4 * 3 + x / 4)]);
      CHECK(std::equal(want.begin(), want.end(), map.at(y, x)));
    }
  }
  const TemporaryFolder folder;
  write_png(folder / "map.png", map);
  CHECK(read_image(folder / "map.png") == map);
  CHECK(contains(message_of([&] { (void)paint({values, 4}); }), "got 6 values in rows of 4"));
}

TEST_CASE("pictures inside of SVG: base64, and stored once") {
  Svg svg(100, 100);
  svg.image({0, 0, 10, 10}, "Man");  // RFC 4648
  svg.image({20, 30, 10, 10}, "Man");
  svg.image({0, 0, 10, 10}, "Ma", 0.5);
  svg.image({0, 0, 10, 10}, "M");
  const std::string text = std::move(svg).finish();
  CHECK(count(text, "base64,TWFu\"") == 1);
  CHECK(contains(text, "<use href=\"#image0\" x=\"20\" y=\"30\"/>"));
  CHECK(contains(text, "base64,TWE=\""));
  CHECK(contains(text, "base64,TQ==\""));
  CHECK(contains(text, "opacity=\"0.5\""));
}

TEST_CASE("a grid of tiles holds its labels, captions, marks and the colour bar") {
  const std::vector<double> values = {0, 1, 2, 3};
  PictureTile tile{paint({values, 2, range_of(values), Palette::viridis})};
  tile.caption = "0 to 3";
  tile.mark = TileArea{0, 0, 0.5, 0.5};
  TileGrid grid;
  grid.title = "A < B";
  grid.notes = {"a note"};
  grid.column_labels = {"left", "right"};
  grid.row_labels = {"top"};
  grid.x_label = "key";
  grid.y_label = "query";
  grid.rows = {{tile, tile}};
  grid.bar = color_bar(Palette::viridis, {0, 3}, "weight");
  const std::string svg = svg_of_tiles(grid);
  for (const char* text : {"A &lt; B", "a note", "left", "right", "top", "key", "query", "0 to 3",
                           "weight", "0.5", "3.0"}) {
    CHECK_MESSAGE(contains(svg, std::string(">") + text + "</text>"), text);
  }
  CHECK(count(svg, "#e31a1c") == 2);
  CHECK(count(svg, "<use ") == 1);
  CHECK(contains(svg_of_tiles({}), "</svg>"));
}

TEST_CASE("bars stand side by side or on top of each other") {
  const Series one{"one", {1, 2}, {1, 2}, Mark::bar}, two{"two", {1, 2}, {2, 1}, Mark::bar};
  const std::string beside = svg_of_charts(std::vector<Chart>{{"t", "x", "y", {one, two}}});
  const std::string stacked =
      svg_of_charts(std::vector<Chart>{{"t", "x", "y", {one, two}, /*stacked=*/true}});
  CHECK(count(beside, "fill=\"#9ec9e2\"") == 6);  // four bars, two legend entries
  CHECK(count(stacked, "fill=\"#0072b2\"") == 3);
  CHECK(count(stacked, "fill=\"#d55e00\"") == 3);
  CHECK(contains(stacked, ">3.0</text>"));  // the axis holds the sum
}

TEST_CASE("a long legend takes another row, the axes begin below it") {
  Chart chart{"t", "x", "y", {}};
  for (int i = 0; i < 9; ++i) {
    chart.series.push_back({"layer " + std::to_string(i), {0, 1}, {0.0, 1.0 * i}});
  }
  const std::string svg = svg_of_charts(std::vector<Chart>{chart});
  CHECK(contains(svg, "y=\"46\""));
  CHECK(contains(svg, "y=\"64\""));
  CHECK(contains(svg, ">layer 8</text>"));
}

TEST_CASE("tables: numbers that read back the same, texts quoted where they must be") {
  Csv csv("a,b");
  csv.row(1, 0.1, "x,y");
  csv.row(std::int64_t{-7}, 1.0F / 3, "say \"hi\"");
  CHECK(csv.text() == "a,b\n1,0.1,\"x,y\"\n-7,0.33333334,\"say \"\"hi\"\"\"\n");
  const TemporaryFolder folder;
  OutputFolder output(folder / "new/deep");
  output.write("t.csv", csv.text());
  CHECK(output.files().size() == 1);
  CHECK(contains(message_of([&] { OutputFolder("/proc/none").write("a", ""); }), "/proc/none"));
}
