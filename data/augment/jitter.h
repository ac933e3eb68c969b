// ColorJitter of torchvision: random changes of brightness, contrast, saturation and hue.
#pragma once

#include <array>

#include "data/image.h"
#include "engine/base/names.h"
#include "engine/rng.h"

namespace fovea {

/// Half widths: factors are U(max(0, 1 - x), 1 + x), the hue rotates by U(-x, x) of the circle. 0
/// disables a change.
struct ColorJitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;

  [[nodiscard]] bool active() const {
    return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0;
  }
};

enum class JitterKind { brightness, contrast, saturation, hue };
template <>
inline constexpr auto kNames<JitterKind> =
    std::to_array<Named<JitterKind>>({{JitterKind::brightness, "brightness"},
                                      {JitterKind::contrast, "contrast"},
                                      {JitterKind::saturation, "saturation"},
                                      {JitterKind::hue, "hue"}});

/// Applies the four changes in a random order. Throws unless the widths are >= 0 and hue <= 0.5.
[[nodiscard]] Image color_jitter(Image image, const ColorJitter& jitter, Rng& rng);

/// Applies one change with a given factor.
[[nodiscard]] Image apply_jitter(JitterKind kind, const Image& image, double factor);

struct JitterStep {
  JitterKind kind{};
  double factor = 1;
  bool active = false;  ///< whether its width is not 0
};
/// Draws the order and the factors.
[[nodiscard]] std::array<JitterStep, 4> draw_jitter(const ColorJitter& jitter, Rng& rng);

}  // namespace fovea
