// Detector: the interface of models that find objects as a fixed set of queries, each with class
// logits and a box.
#pragma once

#include "detection/set_loss.h"
#include "models/model.h"

namespace fovea {

/// Predictions after each of the L decoder layers; the last layer's are the detections.
struct DetectorOutput {
  /// [L, B, Q, C]: C = K + 1 with softmax (the last class is "no object"), C = K with the focal
  /// loss.
  Tensor logits;
  /// [L, B, Q, 4]: (cx, cy, w, h) in (0, 1), relative to the image without its padding.
  Tensor boxes;
};

/// Taps for analyses, of the N = h w cells of the map, in row-major order:
/// feat/backbone [B, C, h, w], feat/proj and feat/pos [B, D, h, w], feat/memory [B, N, D];
/// attn/encoder/<i>, attn/decoder/<i>/self and attn/decoder/<i>/cross, followed by /q and /k [B, H,
/// rows, D / H] and, where keys are masked, /bias (softmax(q k^T / sqrt(D / H) + bias) are the
/// weights), or, for deformable attention, by /locations [B, rows, H, P, 2] (x, y relative to the
/// map) and /weights [B, rows, H, P].
class Detector : public Model {
 public:
  using Model::Model;
  static constexpr TaskKind kTask = TaskKind::detection;

  /// Detects objects in images [B, C, H, W], of the parameters' dtype or of ctx.activations.
  /// `mask` f32 [B, H, W] is 1 on the image and 0 on the padding to the right of and below it;
  /// undefined: no image is padded.
  virtual DetectorOutput forward(const Tensor& images, const Tensor& mask, Context& ctx) = 0;
  /// The loss that the model is trained with.
  [[nodiscard]] virtual SetLossOptions loss_options() const = 0;
  [[nodiscard]] virtual std::int64_t num_queries() const = 0;
  /// (height, width) of the backbone's map for images of this size.
  [[nodiscard]] virtual std::array<std::int64_t, 2> map_size(
      std::array<std::int64_t, 2> image) const = 0;

  /// Logits and boxes of images without padding, as rows: [L B Q, C + 4].
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override;

 protected:
  /// Throws unless the shapes of images and mask are those of forward().
  void check_inputs(const Tensor& images, const Tensor& mask) const;
};

}  // namespace fovea
