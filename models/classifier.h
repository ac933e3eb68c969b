// Classifier: the interface of models that map images to logits.
#pragma once

#include "models/model.h"

namespace fovea {

struct ClassifierOutput {
  Tensor logits;       ///< [B, K]; in evaluation of a distilled model, the mean of both heads
  Tensor logits_dist;  ///< [B, K] from the distillation head in training, else undefined
};

class Classifier : public Model {
 public:
  using Model::Model;
  static constexpr TaskKind kTask = TaskKind::classification;

  /// Maps images [B, C, H, W], of the parameters' dtype or of ctx.activations, to logits [B, K]. A
  /// model without a head returns the pooled tokens [B, D].
  virtual ClassifierOutput forward(const Tensor& images, Context& ctx) = 0;
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override {
    return forward(images, ctx).logits;
  }
};

}  // namespace fovea
