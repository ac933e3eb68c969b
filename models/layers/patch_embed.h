// Images to tokens: a convolution with stride equal to its kernel size, computed as one matrix
// product over flattened patches.
#pragma once

#include <array>

#include "models/context.h"
#include "models/layers/norm.h"
#include "models/scope.h"
#include "ops/conv.h"
#include "ops/view.h"

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
             const PatchEmbedParts& parts = {})
      : PatchEmbed(s, image, dim, torch_default(fan_in(image)), parts) {}
  /// A patch embedding with other initial weights.
  PatchEmbed(const Scope& s, const PatchConfig& image, std::int64_t dim, const Init& weight,
             const PatchEmbedParts& parts = {})
      : image_(image),
        weight_((s / "proj").param("weight", weight_shape(image, dim), weight)),
        bias_(make_bias(s, image, dim, parts)),
        norm_(s.as(Role::embed_norm) / "norm", dim, parts.norm) {}

  /// Throws if the images have another size, unless ctx.any_size or dynamic_img_size.
  [[nodiscard]] Tensor operator()(const Tensor& images, const Context& ctx) const {
    if (ctx.any_size || image_.dynamic_img_size) return any_size(images, ctx);
    const auto [height, width] = image_.img_size;
    check(images.rank() == 4 && images.size(1) == image_.in_chans && images.size(2) == height &&
              images.size(3) == width,
          "PatchEmbed: got images ", images.shape(), ", expected [B, ", image_.in_chans, ", ",
          height, ", ", width, "]");
    return embed(images, ctx);
  }

  /// Accepts images of any size that divides into whole patches.
  [[nodiscard]] Tensor any_size(const Tensor& images, const Context& ctx) const {
    const std::int64_t p = image_.patch_size;
    check(images.rank() == 4 && images.size(1) == image_.in_chans && images.size(2) >= p &&
              images.size(3) >= p && images.size(2) % p == 0 && images.size(3) % p == 0,
          "PatchEmbed: got images ", images.shape(), ", expected [B, ", image_.in_chans,
          ", H, W] of whole patches of ", p, " x ", p);
    return embed(images, ctx);
  }

 private:
  static Tensor make_bias(const Scope& s, const PatchConfig& image, std::int64_t dim,
                          const PatchEmbedParts& parts) {
    if (!parts.bias) return {};
    const Init values = parts.bias_values ? parts.bias_values : torch_default(fan_in(image));
    return (s / "proj").param("bias", {dim}, values);
  }
  [[nodiscard]] Tensor embed(const Tensor& images, const Context& ctx) const {
    const Tensor x = ops::patch_embed(cropped(images).to(ctx.activations), weight_, bias_);
    return norm_(x.to(ctx.residual()));
  }
  [[nodiscard]] Tensor cropped(const Tensor& images) const {
    if (!image_.crop_to_patches) return images;
    const auto [rows, columns] = image_.grid_of(images);
    const std::int64_t p = image_.patch_size;
    return ops::slice(ops::slice(images, 2, 0, rows * p), 3, 0, columns * p);
  }
  static Shape weight_shape(const PatchConfig& image, std::int64_t dim) {
    return {dim, image.in_chans, image.patch_size, image.patch_size};
  }
  static std::int64_t fan_in(const PatchConfig& image) {
    return image.in_chans * image.patch_size * image.patch_size;
  }

  PatchConfig image_;
  Tensor weight_, bias_;
  Norm norm_;
};

}  // namespace fovea
