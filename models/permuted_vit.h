// A ViT that sees the pixels of every image in the same other order: how much locality is worth to
// it (Nguyen et al. 2024, "An Image is Worth More Than 16x16 Patches", section 6).
#pragma once

#include "models/vit.h"

namespace fovea {

/// Images have the size of the model's, with any_size too. The permutation is saved as "perm".
class PermutedViT : public ViT {
 public:
  PermutedViT(ModelInfo info, const ViTConfig& c, std::uint64_t seed, TensorOptions options);

  ClassifierOutput forward(const Tensor& images, Context& ctx) override;

 private:
  [[nodiscard]] Tensor permuted(const Tensor& images) const;

  Tensor perm_;  ///< [H W]
};

}  // namespace fovea
