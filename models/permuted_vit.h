// A ViT that sees the pixels of every image in one fixed permuted order, to measure the value of
// locality (Nguyen et al. 2024, "An Image is Worth More Than 16x16 Patches", section 6).
#pragma once

#include "models/vit.h"

namespace fovea {

/// Images must have the model's size, even with any_size. The permutation is saved as "perm".
class PermutedViT : public ViT {
 public:
  PermutedViT(ModelInfo info, const ViTConfig& c, std::uint64_t seed, TensorOptions options);

  ClassifierOutput forward(const Tensor& images, Context& ctx) override;
  [[nodiscard]] PatchTokens patch_tokens(const Tensor& images, Context& ctx) override;

 private:
  [[nodiscard]] Tensor permuted(const Tensor& images) const;

  Tensor perm_;  ///< [H W]
};

}  // namespace fovea
