// Position attention, block by block: from parameters where it depends on no image (PerViT), else
// averaged over images (relative position encodings).
#pragma once

#include <vector>

#include "inspect/command.h"
#include "inspect/measures.h"

namespace fovea::inspect {

/// Phi_p of one head: what the pictures need of its N x N values.
struct PositionHead {
  std::int64_t head = 0;
  double nonlocality = 0;
  RegionShares regions;
  std::vector<double> center;  ///< Phi_p[center, :], over the grid
};

struct PositionBlock {
  std::int64_t block = 0;
  PatchGrid grid;
  std::vector<PositionHead> heads;
};

/// Throws when the model has no position attention, naming models that have.
[[nodiscard]] std::vector<PositionBlock> position_blocks(const Inspection& what);
/// The same of any model that needs no image for it.
[[nodiscard]] std::vector<PositionBlock> position_blocks(Model& model, bool region_mean);

/// A tile of Phi_p[center, :] with the centre marked. A map whose rows are all equal is drawn with
/// the range [0, 1].
[[nodiscard]] Tile center_tile(const PositionHead& head, const PatchGrid& grid,
                               const TokenLayout& layout);

}  // namespace fovea::inspect
