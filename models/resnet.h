// The residual network of bottleneck blocks (He et al. 2015) without its classifier, under
// torchvision's names.
#pragma once

#include <optional>
#include <vector>

#include "models/layers/conv_norm.h"

namespace fovea {

/// Members have the names of the configuration keys.
struct ResNetConfig {
  std::int64_t in_chans = 3;
  std::int64_t stem = 64;                               ///< channels of the first convolution
  std::vector<std::int64_t> planes{64, 128, 256, 512};  ///< width of each stage's bottlenecks
  std::vector<std::int64_t> blocks{3, 4, 6, 3};         ///< blocks of each stage
  bool dilation = false;  ///< the last stage keeps the resolution and dilates its filters (DC5)
  ConvNormKind norm = ConvNormKind::frozen;
  bool train_stem = false;  ///< train the first convolution and the first stage too

  /// Channels of the map.
  [[nodiscard]] std::int64_t channels() const { return 4 * planes.back(); }
  /// (height, width) of the map for an image of this size.
  [[nodiscard]] std::array<std::int64_t, 2> map_size(std::array<std::int64_t, 2> image) const;
};

/// One block of a stage.
struct BottleneckConfig {
  std::int64_t in = 64, planes = 64;
  std::int64_t stride = 1, dilation = 1;  ///< of the 3 x 3 convolution
  ConvNormKind norm = ConvNormKind::frozen;
  bool trained = true;
};

/// relu(x + bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))): 1 x 1, 3 x 3 and 1 x 1 to 4 times
/// `planes` channels. `downsample` brings x to another stride or width.
class Bottleneck {
 public:
  Bottleneck(const Scope& s, const BottleneckConfig& c);
  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const;

 private:
  ConvNorm conv1_, conv2_, conv3_;
  std::optional<ConvNorm> downsample_;
};

/// images [B, C, H, W] -> the last stage's map [B, 4 planes, h, w].
class ResNet {
 public:
  ResNet(const Scope& s, const ResNetConfig& c);
  [[nodiscard]] Tensor operator()(const Tensor& images, const Context& ctx) const;

 private:
  ConvNorm conv1_;
  std::vector<Bottleneck> blocks_;
};

}  // namespace fovea
