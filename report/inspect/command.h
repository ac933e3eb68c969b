// Helpers shared by the analyses: parsing choices, images in batches, titles.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/output_folder.h"
#include "report/inspect/inspect.h"
#include "report/inspect/tiles.h"

namespace fovea::inspect {

/// Blocks counted from 0, selected by --layers (from 1, "1-4,8") or --layer (from 0). `otherwise`,
/// in the form of --layers, is the default ("all": every block). Throws UsageError.
[[nodiscard]] std::vector<std::int64_t> chosen_blocks(const InspectOptions& options,
                                                      std::int64_t blocks,
                                                      const std::string& otherwise);
/// Heads counted from 0: all of them, or the one selected by --head.
[[nodiscard]] std::vector<std::int64_t> chosen_heads(const InspectOptions& options,
                                                     std::int64_t heads);

struct Query {
  std::int64_t token = 0;   ///< index among all L tokens
  std::int64_t patch = -1;  ///< index among the patches; -1: a prefix token
  std::string label;        ///< "patch (7, 7)", "class token"
};
/// Parses --query: center, class or Y,X (row and column of the grid, from 0).
[[nodiscard]] Query chosen_query(const InspectOptions& options, const TokenLayout& layout,
                                 const PatchGrid& grid);

/// The images of --images or of the data set; `otherwise` is the default of --count.
[[nodiscard]] InspectImages open_images(const Inspection& what, std::int64_t otherwise);

/// `first` is the index of the batch's first image.
using BatchVisitor = std::function<void(const BlockAttention& block, std::int64_t first)>;
/// Calls `visit` for every batch and block, and reports progress.
void visit_images(const Inspection& what, const InspectImages& images, const BatchVisitor& visit);

/// Title of a model: "vit_tiny_patch4_32, runs/a/best.safetensors".
[[nodiscard]] std::string model_note(const Inspection& what);
/// "layer 3": pictures and tables count blocks from 1, as the papers do.
[[nodiscard]] std::string layer_label(std::int64_t block);

/// A tile with one query's attention over the keys, scaled from its minimum to its maximum.
struct KeyMap {
  std::vector<double> values;  ///< [height, width] of the grid
  PatchGrid grid;
  const TokenLayout* layout = nullptr;
};
[[nodiscard]] PictureTile key_tile(const KeyMap& map);
/// The area of a patch within a tile.
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
void detection(const Inspection& what, OutputFolder& output);

}  // namespace fovea::inspect
