// Forward pass of the patch embedding, and what images it accepts.
#include "models/layers/patch_embed.h"

#include "ops/conv.h"
#include "ops/view.h"

namespace fovea {
namespace {

Shape weight_shape(const PatchConfig& image, std::int64_t dim) {
  return {dim, image.in_chans, image.patch_size, image.patch_size};
}

std::int64_t fan_in(const PatchConfig& image) {
  return image.in_chans * image.patch_size * image.patch_size;
}

Tensor make_bias(const Scope& s, const PatchConfig& image, std::int64_t dim,
                 const PatchEmbedParts& parts) {
  if (!parts.bias) return {};
  const Init values = parts.bias_values ? parts.bias_values : torch_default(fan_in(image));
  return (s / "proj").param("bias", {dim}, values);
}

}  // namespace

PatchEmbed::PatchEmbed(const Scope& s, const PatchConfig& image, std::int64_t dim,
                       const PatchEmbedParts& parts)
    : PatchEmbed(s, image, dim, torch_default(fan_in(image)), parts) {}

PatchEmbed::PatchEmbed(const Scope& s, const PatchConfig& image, std::int64_t dim,
                       const Init& weight, const PatchEmbedParts& parts)
    : image_(image),
      weight_((s / "proj").param("weight", weight_shape(image, dim), weight)),
      bias_(make_bias(s, image, dim, parts)),
      norm_(s.as(Role::embed_norm) / "norm", dim, parts.norm) {}

Tensor PatchEmbed::operator()(const Tensor& images, const Context& ctx) const {
  if (ctx.any_size || image_.dynamic_img_size) return any_size(images, ctx);
  const auto [height, width] = image_.img_size;
  check(images.rank() == 4 && images.size(1) == image_.in_chans && images.size(2) == height &&
            images.size(3) == width,
        "PatchEmbed: got images ", images.shape(), ", expected [B, ", image_.in_chans, ", ", height,
        ", ", width, "]");
  return embed(images, ctx);
}

Tensor PatchEmbed::any_size(const Tensor& images, const Context& ctx) const {
  const std::int64_t p = image_.patch_size;
  check(images.rank() == 4 && images.size(1) == image_.in_chans && images.size(2) >= p &&
            images.size(3) >= p && images.size(2) % p == 0 && images.size(3) % p == 0,
        "PatchEmbed: got images ", images.shape(), ", expected [B, ", image_.in_chans,
        ", H, W] of whole patches of ", p, " x ", p);
  return embed(images, ctx);
}

Tensor PatchEmbed::embed(const Tensor& images, const Context& ctx) const {
  const Tensor x = ops::patch_embed(cropped(images).to(ctx.activations), weight_, bias_);
  return norm_(x.to(ctx.residual()));  // [B, N, D]
}

Tensor PatchEmbed::cropped(const Tensor& images) const {
  if (!image_.crop_to_patches) return images;
  const auto [rows, columns] = image_.grid_of(images);
  const std::int64_t p = image_.patch_size;
  return ops::slice(ops::slice(images, 2, 0, rows * p), 3, 0, columns * p);
}

}  // namespace fovea
