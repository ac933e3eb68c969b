// What a detector sees of an image: the map of a ResNet, or the patch tokens of a vision
// transformer.
#pragma once

#include <memory>

#include "models/detector_config.h"
#include "models/model.h"

namespace fovea {

/// The map of a batch, and the images' mask at the size that the map was made from.
struct FeatureMap {
  Tensor values;  ///< [B, C, h, w]
  Tensor mask;    ///< [B, H, W], 1 on the image; undefined: no padding
};

class DetectorBackbone {
 public:
  DetectorBackbone() = default;
  virtual ~DetectorBackbone() = default;
  DetectorBackbone(const DetectorBackbone&) = delete;
  DetectorBackbone& operator=(const DetectorBackbone&) = delete;

  /// images [B, C, H, W]; mask as for Detector::forward().
  [[nodiscard]] virtual FeatureMap operator()(const Tensor& images, const Tensor& mask,
                                              Context& ctx) = 0;
  [[nodiscard]] virtual std::int64_t channels() const = 0;
  /// (height, width) of the map for images of this size.
  [[nodiscard]] virtual std::array<std::int64_t, 2> map_size(
      std::array<std::int64_t, 2> image) const = 0;
  /// The vision transformer; null for a residual network.
  [[nodiscard]] virtual Model* model() const { return nullptr; }
  virtual void finish_backward() {}
};

/// Makes the backbone with its parameters under `s`.
[[nodiscard]] std::unique_ptr<DetectorBackbone> make_backbone(const Scope& s,
                                                              const DetectorConfig& c);

}  // namespace fovea
