// A ViT applied to images with permuted pixels.
#include "models/permuted_vit.h"

#include "ops/index.h"
#include "ops/view.h"

namespace fovea {

PermutedViT::PermutedViT(ModelInfo model, const ViTConfig& c, std::uint64_t seed,
                         TensorOptions options)
    : ViT(std::move(model), c, seed, options) {
  const TokenGrid pixels{info().img_size};
  perm_ =
      top().over(pixels).buffer("perm", {pixels.patches()}, permutation_of(c.permute), DType::i64);
}

ClassifierOutput PermutedViT::forward(const Tensor& images, Context& ctx) {
  return ViT::forward(permuted(images), ctx);
}

PatchTokens PermutedViT::patch_tokens(const Tensor& images, Context& ctx) {
  return ViT::patch_tokens(permuted(images), ctx);
}

/// x'[i] = x[perm[i]] over the H W pixels; all channels share the permutation.
Tensor PermutedViT::permuted(const Tensor& images) const {
  if (images.rank() != 4) return images;
  const auto [height, width] = info().img_size;
  check(images.size(2) == height && images.size(3) == width, "ViT: got images ", images.shape(),
        ", expected the ", height, " x ", width, " pixels that are permuted");
  const Tensor pixels = ops::reshape(images, {images.size(0), images.size(1), -1});  // [B, C, H W]
  return ops::reshape(ops::index_select(pixels, 2, perm_), images.shape());
}

}  // namespace fovea
