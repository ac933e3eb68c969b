// Placing the PEGs of an encoder.
#include "models/detector_encoder.h"

namespace fovea {

EncoderPegs::EncoderPegs(const Scope& encoder, const DetectorConfig& c) {
  if (c.encoder_pos != EncoderPos::peg) return;
  positions_ = c.peg_positions;
  const Scope first = encoder.as(Role::position_encoding) / "peg";
  for (std::int64_t i = 0; i < std::ssize(positions_); ++i) {
    pegs_.emplace_back(i == 0 ? first : first / i,
                       DetectionPegConfig{.dim = c.d_model, .mask_input = c.peg_mask_input});
  }
}

Tensor EncoderPegs::after(std::int64_t layer, const Tensor& x, const MapCells& cells,
                          const Context& ctx) const {
  Tensor tokens = x;
  for (std::size_t i = 0; i < pegs_.size(); ++i) {
    if (positions_[i] == layer) tokens = pegs_[i](tokens, cells, ctx);
  }
  return tokens;
}

}  // namespace fovea
