// ColorJitter: its four changes in a random order.
#include "data/augment/jitter.h"

#include <algorithm>
#include <utility>

#include "data/augment/color.h"
#include "engine/base/error.h"

namespace fovea {

std::array<JitterStep, 4> draw_jitter(const ColorJitter& jitter, Rng& rng) {
  std::array<JitterStep, 4> steps;
  const std::array<double, 4> widths = {jitter.brightness, jitter.contrast, jitter.saturation,
                                        jitter.hue};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].kind = static_cast<JitterKind>(i);
    check(widths[i] >= 0 && widths[i] <= (i == 3 ? 0.5 : 1e3), "color jitter: got ", widths[i],
          ", expected 0 or more, and at most 0.5 for hue");
    steps[i].active = widths[i] > 0;
    if (!steps[i].active) continue;
    const double center = steps[i].kind == JitterKind::hue ? 0 : 1;
    const double low = center - widths[i];
    steps[i].factor = rng.uniform(center > 0 ? std::max(0.0, low) : low, center + widths[i]);
  }
  for (std::int64_t i = std::ssize(steps) - 1; i > 0; --i)
    std::swap(steps[static_cast<std::size_t>(i)],
              steps[static_cast<std::size_t>(rng.below(i + 1))]);
  return steps;
}

Image apply_jitter(JitterKind kind, const Image& image, double factor) {
  switch (kind) {
    case JitterKind::brightness:
      return adjust_brightness(image, factor);
    case JitterKind::contrast:
      return adjust_contrast(image, factor);
    case JitterKind::saturation:
      return adjust_saturation(image, factor);
    default:
      return adjust_hue(image, factor);
  }
}

Image color_jitter(Image image, const ColorJitter& jitter, Rng& rng) {
  for (const JitterStep& step : draw_jitter(jitter, rng))
    if (step.active) image = apply_jitter(step.kind, image, step.factor);
  return image;
}

}  // namespace fovea
