// Pictures made of rows and columns of small maps, with labels, captions and a colour bar.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/figures/colormap.h"
#include "data/image.h"

namespace fovea {

/// A part of a tile in fractions of its sides: (0, 0) is the upper left corner, (1, 1) the lower
/// right.
struct TileArea {
  double top = 0, left = 0, height = 1, width = 1;
};

struct PictureTile {
  Image map;           ///< empty: no map
  TileArea area{};     ///< area covered by the map
  Image background{};  ///< picture below the map; empty: none
  std::string caption{};
  std::optional<TileArea> mark{};  ///< area outlined by a red square
};

/// A colour bar next to the tiles, from top to bottom.
struct ColorBar {
  Palette palette = Palette::viridis;
  std::string label{};
  std::vector<std::pair<double, std::string>> ticks{};  ///< fraction of the palette, text
};
/// A colour bar with ticks at round values of the range.
[[nodiscard]] ColorBar color_bar(Palette palette, const ColorRange& range, std::string label);
/// A colour bar for tiles with individual ranges.
[[nodiscard]] ColorBar relative_color_bar(std::string label);

struct TileGrid {
  std::string title;
  std::vector<std::string> notes{};  ///< lines below the title
  std::vector<std::string> row_labels{}, column_labels{};
  std::string x_label{}, y_label{};
  std::vector<std::vector<PictureTile>> rows;
  std::optional<ColorBar> bar{};
  double side = 120;  ///< longer side of a tile in pixels
  double aspect = 1;  ///< height of a tile over its width
  double gap = 20;    ///< between tiles
};

[[nodiscard]] std::string svg_of_tiles(const TileGrid& grid);

/// The picture in pale grey, so that a map over it stands out.
[[nodiscard]] Image pale(const Image& image);

}  // namespace fovea
