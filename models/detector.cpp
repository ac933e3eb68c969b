// What all detectors do alike.
#include "models/detector.h"

#include "ops/view.h"

namespace fovea {

Tensor Detector::probe(const Tensor& images, Context& ctx) {
  const DetectorOutput out = forward(images, {}, ctx);
  const auto rows = [](const Tensor& x) { return ops::reshape(x, {-1, x.size(3)}); };
  return ops::cat({rows(out.logits), rows(out.boxes).to(out.logits.dtype())}, 1);
}

void Detector::check_inputs(const Tensor& images, const Tensor& mask) const {
  check(images.rank() == 4 && images.size(0) > 0 && images.size(1) == info().in_chans, info().name,
        ": got images ", images.shape(), ", expected [B, ", info().in_chans, ", H, W]");
  if (!mask.defined()) return;
  const Shape expected{images.size(0), images.size(2), images.size(3)};
  check(mask.shape() == expected, info().name, ": got a mask ", mask.shape(), ", expected ",
        expected, " for images ", images.shape());
}

}  // namespace fovea
