// What all detectors do alike.
#include "models/detector.h"

#include "ops/view.h"

namespace fovea {

Detector::Detector(ModelInfo info, const DetectorConfig& c, std::uint64_t seed,
                   TensorOptions options)
    : Model(std::move(info), seed, options),
      backbone_(make_backbone(at("backbone") / 0 / "body", c)),
      queries_(c.num_queries) {}

DetectorOutput Detector::forward(const Tensor& images, const Tensor& mask, Context& ctx) {
  check(images.rank() == 4 && images.size(0) > 0 && images.size(1) == info().in_chans, info().name,
        ": got images ", images.shape(), ", expected [B, ", info().in_chans, ", H, W]");
  const Shape pixels{images.size(0), images.size(2), images.size(3)};
  check(!mask.defined() || mask.shape() == pixels, info().name, ": got a mask ",
        mask.defined() ? mask.shape() : Shape{}, ", expected ", pixels, " for images ",
        images.shape());
  const FeatureMap map = (*backbone_)(images, mask, ctx);
  ctx.show("feat/backbone", map.values);
  return detect(map, ctx);
}

Tensor Detector::probe(const Tensor& images, Context& ctx) {
  const DetectorOutput out = forward(images, {}, ctx);
  const auto rows = [](const Tensor& x) { return ops::reshape(x, {-1, x.size(3)}); };
  return ops::cat({rows(out.logits), rows(out.boxes).to(out.logits.dtype())}, 1);
}

}  // namespace fovea
