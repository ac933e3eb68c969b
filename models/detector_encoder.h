// Parts that the encoders of DETR and Deformable DETR share: the PEGs between their layers.
#pragma once

#include <vector>

#include "models/detector_config.h"
#include "models/layers/detection_peg.h"

namespace fovea {

/// The PEGs of an encoder. The first is named `peg`, the others `peg.1`, `peg.2`, ...
class EncoderPegs {
 public:
  /// Makes them under `encoder`; none unless encoder_pos is peg.
  EncoderPegs(const Scope& encoder, const DetectorConfig& c);

  /// The tokens after encoder layer `layer`, -1: before the first.
  [[nodiscard]] Tensor after(std::int64_t layer, const Tensor& x, const MapCells& cells,
                             const Context& ctx) const;

 private:
  std::vector<std::int64_t> positions_;
  std::vector<DetectionPeg> pegs_;
};

}  // namespace fovea
