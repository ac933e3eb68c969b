// The position encoding generator of a detector's encoder (Chu et al. 2021, "CPVT", algorithm 2).
#pragma once

#include "models/context.h"
#include "models/layers/map_cells.h"
#include "models/layers/running_buffers.h"
#include "models/scope.h"

namespace fovea {

struct DetectionPegConfig {
  std::int64_t dim = 256;
  bool mask_input = false;  ///< set tokens on padding to zero before the convolution
};

/// x + relu(batch_norm(conv(x))), with a depthwise 3 x 3 convolution over the map; tokens on
/// padding keep their values. They take part in the convolution and in the batch's statistics.
class DetectionPeg {
 public:
  DetectionPeg(const Scope& s, const DetectionPegConfig& c);
  /// x [B, N, D], the tokens of the map -> [B, N, D].
  [[nodiscard]] Tensor operator()(const Tensor& x, const MapCells& cells, const Context& ctx) const;

 private:
  DetectionPegConfig config_;
  Tensor filters_;  ///< [D, 1, 3, 3]
  ops::Affine affine_;
  RunningBuffers running_;
};

}  // namespace fovea
