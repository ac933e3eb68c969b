// Classifier: the interface of models that map images to logits.
#pragma once

#include "models/model.h"

namespace fovea {

struct ClassifierOutput {
  Tensor logits;       ///< [B, K]; in evaluation of a distilled model, the mean of both heads
  Tensor logits_dist;  ///< [B, K] from the distillation head in training, else undefined
};

/// The patches of images after the last block, normalised.
struct PatchTokens {
  Tensor values;                           ///< [B, N, D] in row-major order
  std::array<std::int64_t, 2> grid{0, 0};  ///< (height, width), N = height width
};

class Classifier : public Model {
 public:
  using Model::Model;
  static constexpr TaskKind kTask = TaskKind::classification;

  /// Maps images [B, C, H, W], of the parameters' dtype or of ctx.activations, to logits [B, K]. A
  /// model without a head returns the pooled tokens [B, D].
  virtual ClassifierOutput forward(const Tensor& images, Context& ctx) = 0;
  /// The patch tokens of images, for models that predict more than a class from them. A norm of the
  /// pooled vector acts on each token. Throws for models without patch tokens.
  [[nodiscard]] virtual PatchTokens patch_tokens(const Tensor& images, Context& ctx);
  /// Channels D of the patch tokens; throws like patch_tokens().
  [[nodiscard]] virtual std::int64_t patch_channels() const;
  /// Whether images of other sizes than info().img_size are accepted, with Context::any_size.
  [[nodiscard]] virtual bool takes_any_size() const { return true; }
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override {
    return forward(images, ctx).logits;
  }
};

}  // namespace fovea
