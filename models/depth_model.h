// Depth model: the interface of models that map images to a depth per pixel.
#pragma once

#include "models/depth/loss.h"
#include "models/model.h"

namespace fovea {

class DepthModel : public Model {
 public:
  using Model::Model;
  static constexpr TaskKind kTask = TaskKind::depth;

  /// Maps images [B, C, H, W], of the parameters' dtype or of ctx.activations, to depths [B, H, W]
  /// in metres.
  [[nodiscard]] virtual Tensor forward(const Tensor& images, Context& ctx) = 0;
  /// The loss that the outputs are made for.
  [[nodiscard]] virtual DepthLoss loss() const = 0;
  [[nodiscard]] Tensor probe(const Tensor& images, Context& ctx) override {
    return forward(images, ctx);
  }
};

}  // namespace fovea
