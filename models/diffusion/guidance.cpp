// Classifier-free guidance.
#include "models/diffusion/guidance.h"

#include <algorithm>
#include <utility>

#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {

Tensor guided_output(const Tensor& conditional, const Tensor& unconditional, std::int64_t channels,
                     const GuidanceOptions& guidance) {
  const std::int64_t outputs = conditional.size(1);
  const std::int64_t count =
      guidance.channels == 0 ? channels : std::min(guidance.channels, outputs);
  const Tensor c = ops::slice(conditional, 1, 0, count);
  const Tensor u = ops::slice(unconditional, 1, 0, count);
  const Tensor noise = u + guidance.scale * (c - u);
  return count == outputs ? noise
                          : ops::cat({noise, ops::slice(conditional, 1, count, outputs)}, 1);
}

Denoiser guided(ConditionalDenoiser model, const Tensor& y, std::int64_t null_label,
                const GuidanceOptions& guidance) {
  if (guidance.scale == 1) {
    return
        [model = std::move(model), y](const Tensor& x, const Tensor& t) { return model(x, t, y); };
  }
  const Tensor null = full(y.shape(), static_cast<double>(null_label), y.options());
  const Tensor both = ops::cat({y, null}, 0);
  return [model = std::move(model), both, guidance](const Tensor& x, const Tensor& t) {
    const std::int64_t n = x.size(0);
    const Tensor out = model(ops::cat({x, x}, 0), ops::cat({t, t}, 0), both);
    return guided_output(ops::slice(out, 0, 0, n), ops::slice(out, 0, n, 2 * n), x.size(1),
                         guidance);
  };
}

}  // namespace fovea
