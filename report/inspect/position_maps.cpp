// Position attention by block. All stored values are linear in Phi_p, so they can be averaged over
// images.
#include "report/inspect/position_maps.h"

#include <algorithm>

#include "engine/base/error.h"

namespace fovea::inspect {
namespace {

PositionHead measure(const BlockAttention& block, const BlockAttention::HeadIndex& index,
                     bool region_mean) {
  const SquareMap phi = block.gate(index);
  const PatchGrid grid = block.grid();
  PositionHead head;
  head.head = index.head;
  head.nonlocality = nonlocality(phi, NormalizedDistance(grid));
  head.regions = region_shares(phi, grid, region_mean);
  const std::span<const float> row = phi.row(grid.center());
  head.center.assign(row.begin(), row.end());
  return head;
}

void add(PositionHead& sum, const PositionHead& part, double weight) {
  sum.head = part.head;
  sum.nonlocality += weight * part.nonlocality;
  for (std::size_t i = 0; i < kRegions; ++i) {
    sum.regions.value[i] += weight * part.regions.value[i];
  }
  sum.center.resize(part.center.size());
  for (std::size_t i = 0; i < sum.center.size(); ++i) sum.center[i] += weight * part.center[i];
}

/// Adds one image's maps of a block to the means.
void accumulate(std::vector<PositionBlock>& blocks, const BlockAttention& block,
                const BlockAttention::HeadIndex& index, double weight, bool region_mean) {
  auto found = std::find_if(blocks.begin(), blocks.end(), [&](const PositionBlock& known) {
    return known.block == block.block();
  });
  if (found == blocks.end()) {
    PositionBlock fresh{block.block(), block.grid(), {}};
    fresh.heads.resize(static_cast<std::size_t>(block.heads()));
    found = blocks.insert(blocks.end(), std::move(fresh));
  }
  add(found->heads.at(static_cast<std::size_t>(index.head)), measure(block, index, region_mean),
      weight);
}

bool rows_are_equal(const std::vector<double>& map, std::int64_t width) {
  for (std::size_t i = static_cast<std::size_t>(width); i < map.size(); ++i) {
    if (map[i] != map[i - static_cast<std::size_t>(width)]) return false;
  }
  return true;
}

}  // namespace

std::vector<PositionBlock> position_blocks(Model& model, bool region_mean) {
  std::vector<PositionBlock> blocks;
  const ModelInfo& info = model.info();
  const Tensor blank = zeros({1, info.in_chans, info.img_size[0], info.img_size[1]});
  visit_blocks(model, blank, [&](const BlockAttention& block) {
    if (!block.has_phi_p()) return;
    for (std::int64_t head = 0; head < block.heads(); ++head) {
      accumulate(blocks, block, {0, head}, 1, region_mean);
    }
  });
  return blocks;
}

std::vector<PositionBlock> position_blocks(const Inspection& what) {
  const bool region_mean = what.options.region_mean;
  std::vector<PositionBlock> blocks = position_blocks(*what.model, region_mean);
  if (!blocks.empty()) return blocks;
  const InspectImages images = open_images(what, 8);
  visit_images(what, images, [&](const BlockAttention& block, std::int64_t) {
    if (!block.has_position()) return;
    for (std::int64_t image = 0; image < block.images(); ++image) {
      const double weight = 1 / static_cast<double>(images.size());
      for (std::int64_t head = 0; head < block.heads(); ++head) {
        accumulate(blocks, block, {image, head}, weight, region_mean);
      }
    }
  });
  check(!blocks.empty(), "inspect: ", what.model->info().name,
        " has no position attention, expected PerViT (pervit_tiny_224) or a model with a relative "
        "position encoding");
  return blocks;
}

PictureTile center_tile(const PositionHead& head, const PatchGrid& grid,
                        const TokenLayout& layout) {
  PictureTile tile = key_tile({head.center, grid, &layout});
  if (rows_are_equal(head.center, grid.width)) {
    tile.map = paint({head.center, grid.width, {0, 1}, Palette::viridis});
  }
  tile.mark = patch_area(grid.center(), grid, layout);
  return tile;
}

}  // namespace fovea::inspect
