// Detector: the interface of models that find objects as a fixed set of queries, each with class
// logits and a box.
#pragma once

#include "models/detection/matching_costs.h"
#include "models/detector_backbone.h"

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
  static constexpr TaskKind kTask = TaskKind::detection;
  /// Makes the backbone, under the name backbone.0.body.
  Detector(ModelInfo info, const DetectorConfig& c, std::uint64_t seed, TensorOptions options);

  /// Detects objects in images [B, C, H, W], of the parameters' dtype or of ctx.activations.
  /// `mask` f32 [B, H, W] is 1 on the image and 0 on the padding to the right of and below it;
  /// undefined: no image is padded.
  [[nodiscard]] DetectorOutput forward(const Tensor& images, const Tensor& mask, Context& ctx);
  /// The same from the backbone's map.
  [[nodiscard]] virtual DetectorOutput detect(const FeatureMap& map, Context& ctx) const = 0;
  /// The loss that the model is trained with.
  [[nodiscard]] virtual SetLossOptions loss_options() const = 0;

  [[nodiscard]] std::int64_t num_queries() const { return queries_; }
  /// (height, width) of the backbone's map for images of this size.
  [[nodiscard]] std::array<std::int64_t, 2> map_size(std::array<std::int64_t, 2> image) const {
    return backbone_->map_size(image);
  }
  /// The vision transformer that is the backbone; null for a residual network.
  [[nodiscard]] Model* backbone_model() const { return backbone_->model(); }

  /// Logits and boxes of images without padding, as rows: [L B Q, C + 4].
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override;
  void finish_backward() override { backbone_->finish_backward(); }

 protected:
  [[nodiscard]] const DetectorBackbone& backbone() const { return *backbone_; }

 private:
  std::unique_ptr<DetectorBackbone> backbone_;
  std::int64_t queries_;
};

}  // namespace fovea
