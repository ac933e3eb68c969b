// What the transformers of DETR and Deformable DETR share: the sizes of their layers' parts, and
// the PEGs between the encoder's layers.
#pragma once

#include <string>
#include <vector>

#include "models/detector_config.h"
#include "models/layers/detection_peg.h"
#include "models/layers/feed_forward.h"
#include "models/layers/multihead_attention.h"
#include "models/layers/norm.h"

namespace fovea {

/// "attn/encoder/0" and so on: where a layer's attention is shown; `what` is "", "/self" or
/// "/cross".
[[nodiscard]] std::string attention_tap(const char* stack, std::int64_t layer, const char* what);

/// The parts of a layer under their names in it.
[[nodiscard]] MultiheadAttention layer_attention(const Scope& s, const DetectorConfig& c,
                                                 const std::string& tap);
[[nodiscard]] FeedForward layer_mlp(const Scope& s, const DetectorConfig& c);
[[nodiscard]] Norm layer_norm_of(const Scope& s, const char* name, const DetectorConfig& c);

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
