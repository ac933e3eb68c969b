// Position attention, block by block: from parameters if it is independent of the image (PerViT),
// otherwise averaged over images (relative position encodings).
#pragma once

#include <vector>

#include "report/inspect/command.h"
#include "report/inspect/measures.h"

namespace fovea::inspect {

/// Values for the pictures from one head's N x N matrix Phi_p.
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

/// Throws if the model has no position attention, naming models that do.
[[nodiscard]] std::vector<PositionBlock> position_blocks(const Inspection& what);
/// Position attention of a model for which it is independent of the image.
[[nodiscard]] std::vector<PositionBlock> position_blocks(Model& model, bool region_mean);

/// A tile of Phi_p[center, :] with the centre marked. If all values are equal, the range is [0, 1].
[[nodiscard]] PictureTile center_tile(const PositionHead& head, const PatchGrid& grid,
                                      const TokenLayout& layout);

}  // namespace fovea::inspect
