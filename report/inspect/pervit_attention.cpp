// pervit-attention: Phi_p of each head in the chosen layers, and below it, per image, the mixed
// attention Phi_a = Phi_c Phi_p of the central query (PerViT fig. 6).
#include <algorithm>
#include <map>

#include "engine/base/csv.h"
#include "engine/base/text.h"
#include "report/inspect/position_maps.h"

namespace fovea::inspect {
namespace {

/// Starts the picture of one layer, which is built row by row.
TileGrid start_picture(const Inspection& what, const PositionBlock& block,
                       const TokenLayout& layout) {
  TileGrid grid;
  grid.title = "Position and mixed attention, " + layer_label(block.block);
  grid.notes = {
      model_note(what),
      "Top: position attention of the central query (red square). Below: mixed attention of "
      "position and content."};
  grid.bar = relative_color_bar("attention, each map in its own range");
  grid.row_labels = {"position"};
  grid.column_labels = {"image"};
  std::vector<PictureTile> top(1);
  for (const PositionHead& head : block.heads) {
    grid.column_labels.push_back("head " + std::to_string(head.head));
    top.push_back(center_tile(head, block.grid, layout));
  }
  grid.rows.push_back(std::move(top));
  grid.aspect = static_cast<double>(layout.grid_height) / static_cast<double>(layout.grid_width);
  return grid;
}

struct ImageRow {
  Image picture, background;
  std::string name;
};

std::vector<PictureTile> mixed_row_of(const BlockAttention& block, std::int64_t image,
                                      const ImageRow& shown, Csv& csv) {
  const PatchGrid grid = block.grid();
  PictureTile first;
  first.map = shown.picture;
  first.mark = patch_area(grid.center(), grid, block.layout());
  std::vector<PictureTile> row{std::move(first)};
  for (std::int64_t head = 0; head < block.heads(); ++head) {
    const std::vector<double> values = mixed_row(block, {image, head}, grid.center());
    PictureTile tile = key_tile({values, grid, &block.layout()});
    tile.background = shown.background;
    tile.mark = row.front().mark;
    row.push_back(std::move(tile));
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto patch = static_cast<std::int64_t>(k);
      csv.row(shown.name, block.block() + 1, head, patch / grid.width, patch % grid.width,
              values[k]);
    }
  }
  return row;
}

}  // namespace

void pervit_attention(const Inspection& what, OutputFolder& output) {
  const TokenLayout layout = token_layout(*what.model);
  // The layers of PerViT's figure.
  const std::string otherwise = layout.blocks >= 8 ? "3,4,8" : "all";
  const std::vector<std::int64_t> chosen = chosen_blocks(what.options, layout.blocks, otherwise);
  std::map<std::int64_t, TileGrid> pictures;
  for (const PositionBlock& block : position_blocks(what)) {
    if (std::find(chosen.begin(), chosen.end(), block.block) == chosen.end()) continue;
    pictures[block.block] = start_picture(what, block, layout);
  }
  const InspectImages images = open_images(what, 4);
  Csv csv("image,layer,head,key_y,key_x,phi_a");
  visit_images(what, images, [&](const BlockAttention& block, std::int64_t first) {
    const auto found = pictures.find(block.block());
    if (found == pictures.end()) return;
    for (std::int64_t i = 0; i < block.images(); ++i) {
      const Image picture = images.picture(first + i);
      const ImageRow shown{picture, pale(picture), images.name(first + i)};
      found->second.rows.push_back(mixed_row_of(block, i, shown, csv));
      found->second.row_labels.push_back(shown.name);
    }
  });
  for (const auto& [block, grid] : pictures) {
    output.write("pervit-attention-layer" + three_digits(block + 1) + ".svg", svg_of_tiles(grid));
  }
  output.write("pervit-attention.csv", csv.text());
}

}  // namespace fovea::inspect
