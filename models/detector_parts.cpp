// Making the parts of a detector's layers, and placing the PEGs of its encoder.
#include "models/detector_parts.h"

namespace fovea {

std::string attention_tap(const char* stack, std::int64_t layer, const char* what) {
  return "attn/" + std::string(stack) + "/" + std::to_string(layer) + what;
}

MultiheadAttention layer_attention(const Scope& s, const DetectorConfig& c,
                                   const std::string& tap) {
  return {s.as(Role::attention), {c.d_model, c.nheads, c.dropout, tap}};
}

FeedForward layer_mlp(const Scope& s, const DetectorConfig& c) {
  return {s.as(Role::mlp), {c.d_model, c.dim_feedforward, c.dropout}};
}

Norm layer_norm_of(const Scope& s, const char* name, const DetectorConfig& c) {
  return {s.as(Role::norm) / name, c.d_model, 1e-5};
}

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
