// Images to tokens: a convolution with stride equal to its kernel size, computed as one matrix
// product over flattened patches.
#pragma once

#include <array>

#include "models/context.h"
#include "models/layers/norm.h"
#include "models/scope.h"

namespace fovea {

/// Image size and patch size.
struct PatchConfig {
  std::array<std::int64_t, 2> img_size{224, 224};  ///< (height, width)
  std::int64_t patch_size = 16;
  std::int64_t in_chans = 3;
  bool crop_to_patches = false;   ///< cut off what the image has beyond its last whole patches
  bool dynamic_img_size = false;  ///< accept images of any size that divides into whole patches

  /// Patches per column and per row.
  [[nodiscard]] std::array<std::int64_t, 2> grid() const {
    return {img_size[0] / patch_size, img_size[1] / patch_size};
  }
  [[nodiscard]] std::int64_t patches() const { return grid()[0] * grid()[1]; }
  /// Patches per column and per row for images [B, C, H, W] of any size.
  [[nodiscard]] std::array<std::int64_t, 2> grid_of(const Tensor& images) const {
    check(images.rank() == 4, "PatchConfig: got images ", images.shape(),
          ", expected [B, C, H, W]");
    return {images.size(2) / patch_size, images.size(3) / patch_size};
  }
};

/// The parts of a patch embedding that some models change.
struct PatchEmbedParts {
  bool bias = true;
  Init bias_values{};                       ///< initial values; empty: PyTorch's default
  NormConfig norm{.kind = NormKind::none};  ///< normalises the embedded patches
};

/// Maps [B, C, H, W] -> [B, N, D] with N = (H / p)(W / p) in row-major order; dtype ctx.residual().
class PatchEmbed {
 public:
  PatchEmbed(const Scope& s, const PatchConfig& image, std::int64_t dim,
             const PatchEmbedParts& parts = {});
  /// A patch embedding with other initial weights.
  PatchEmbed(const Scope& s, const PatchConfig& image, std::int64_t dim, const Init& weight,
             const PatchEmbedParts& parts = {});

  /// Throws if the images have another size, unless ctx.any_size or dynamic_img_size.
  [[nodiscard]] Tensor operator()(const Tensor& images, const Context& ctx) const;
  /// Accepts images of any size that divides into whole patches.
  [[nodiscard]] Tensor any_size(const Tensor& images, const Context& ctx) const;

 private:
  [[nodiscard]] Tensor embed(const Tensor& images, const Context& ctx) const;
  [[nodiscard]] Tensor cropped(const Tensor& images) const;

  PatchConfig image_;
  Tensor weight_, bias_;
  Norm norm_;
};

}  // namespace fovea
