// What the analyses share: choices read from their texts, images in batches, titles.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "inspect/inspect.h"
#include "inspect/tiles.h"

namespace fovea::inspect {

/// Blocks counted from 0, from --layers (from 1, "1-4,8") or --layer (from 0); `otherwise`, in the
/// form of --layers, where neither is given ("all": every block). Throws UsageError.
[[nodiscard]] std::vector<std::int64_t> chosen_blocks(const InspectOptions& options,
                                                      std::int64_t blocks,
                                                      const std::string& otherwise);
/// Heads counted from 0: all of them, or the one of --head.
[[nodiscard]] std::vector<std::int64_t> chosen_heads(const InspectOptions& options,
                                                     std::int64_t heads);

struct Query {
  std::int64_t token = 0;   ///< among all L tokens
  std::int64_t patch = -1;  ///< among the patches; -1: a prefix token
  std::string label;        ///< "patch (7, 7)", "class token"
};
/// --query center, class or Y,X (row and column of the grid, from 0).
[[nodiscard]] Query chosen_query(const InspectOptions& options, const TokenLayout& layout,
                                 const PatchGrid& grid);

/// The images of --images or of the data set, `otherwise` many where --count is not given.
[[nodiscard]] InspectImages open_images(const Inspection& what, std::int64_t otherwise);

/// Shows every block for every image, batch by batch; `first` is the number of the batch's first
/// image. Reports progress.
using BatchVisitor = std::function<void(const BlockAttention& block, std::int64_t first)>;
void visit_images(const Inspection& what, const InspectImages& images, const BatchVisitor& visit);

/// "vit_tiny_patch4_32, runs/a/best.safetensors".
[[nodiscard]] std::string model_note(const Inspection& what);
/// "layer 3": blocks are counted from 1 in pictures and tables, as in the papers.
[[nodiscard]] std::string layer_label(std::int64_t block);

/// A tile with the map of one query's keys, in its own range from least to most.
struct KeyMap {
  std::vector<double> values;  ///< [height, width] of the grid
  PatchGrid grid;
  const TokenLayout* layout = nullptr;
};
[[nodiscard]] Tile key_tile(const KeyMap& map);
/// Where a patch lies in a tile.
[[nodiscard]] TileArea patch_area(std::int64_t patch, const PatchGrid& grid,
                                  const TokenLayout& layout);

// The analyses.
void attention(const Inspection& what, OutputFolder& output);
void attention_distance(const Inspection& what, OutputFolder& output);
void attention_offset(const Inspection& what, OutputFolder& output);
void locality(const Inspection& what, OutputFolder& output);
void pos_embed(const Inspection& what, OutputFolder& output);
void peg_kernels(const Inspection& what, OutputFolder& output);
void pervit_phi(const Inspection& what, OutputFolder& output);
void pervit_regions(const Inspection& what, OutputFolder& output);
void pervit_nonlocality(const Inspection& what, OutputFolder& output);
void pervit_impact(const Inspection& what, OutputFolder& output);
void pervit_attention(const Inspection& what, OutputFolder& output);
void mae(const Inspection& what, OutputFolder& output);

}  // namespace fovea::inspect
