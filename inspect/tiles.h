// Pictures made of rows and columns of small maps, with labels, captions and a colour bar.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/image.h"
#include "figures/colormap.h"

namespace fovea {

/// A part of a tile in shares of its sides: (0, 0) is the upper left corner, (1, 1) the lower
/// right.
struct TileArea {
  double top = 0, left = 0, height = 1, width = 1;
};

struct Tile {
  Image map;           ///< empty: none
  TileArea area{};     ///< that the map covers
  Image background{};  ///< what the map is laid over; empty: nothing
  std::string caption{};
  std::optional<TileArea> mark{};  ///< a red square
};

/// Beside the tiles, from top to bottom.
struct ColorBar {
  Palette palette = Palette::viridis;
  std::string label{};
  std::vector<std::pair<double, std::string>> ticks{};  ///< share of the palette, text
};
/// With ticks at round values of the range.
[[nodiscard]] ColorBar color_bar(Palette palette, const ColorRange& range, std::string label);
/// Of tiles that each have a range of their own.
[[nodiscard]] ColorBar relative_color_bar(std::string label);

struct TileGrid {
  std::string title;
  std::vector<std::string> notes{};  ///< lines below the title
  std::vector<std::string> row_labels{}, column_labels{};
  std::string x_label{}, y_label{};
  std::vector<std::vector<Tile>> rows;
  std::optional<ColorBar> bar{};
  double side = 120;  ///< of a tile's longer side, in pixels
  double aspect = 1;  ///< height of a tile over its width
  double gap = 20;    ///< between tiles
};

[[nodiscard]] std::string svg_of_tiles(const TileGrid& grid);

/// A colour picture in pale grey, so that a map can be told from it.
[[nodiscard]] Image pale(const Image& image);

}  // namespace fovea
