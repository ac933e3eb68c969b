// The operations of timm's automatic augmentations, by name. Their argument depends on a level
// from 0 to 10.
#pragma once

#include <optional>
#include <string_view>

#include "data/geometry/geometry.h"
#include "engine/rng.h"

namespace fovea {

/// timm's names. "Increasing": a higher level changes the image more. "Original": the levels of
/// the AutoAugment paper. "Rel": the argument is a share of the image side.
enum class AugmentKind {
  identity,
  auto_contrast,
  equalize,
  invert,
  rotate,
  posterize,
  posterize_increasing,
  posterize_original,
  solarize,
  solarize_increasing,
  solarize_add,
  color,
  color_increasing,
  contrast,
  contrast_increasing,
  brightness,
  brightness_increasing,
  sharpness,
  sharpness_increasing,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  translate_x_rel,
  translate_y_rel,
  desaturate,
  gaussian_blur,
  gaussian_blur_rand,
};

/// Parses "AutoContrast", "PosterizeIncreasing", ... Throws with the nearest known name.
[[nodiscard]] AugmentKind parse_augment_kind(std::string_view name);
[[nodiscard]] std::string_view name_of(AugmentKind kind);

/// Settings shared by the operations of one policy.
struct AugmentSettings {
  Color8 fill{128, 128, 128};    ///< colour outside of the image
  std::optional<Filter> filter;  ///< geometry only; none: bilinear or bicubic, drawn each time
  double translate_const = 250;  ///< pixels of translate_x and translate_y at level 10
  double translate_pct = 0.45;   ///< share of the side at level 10
  double magnitude_std = 0;      ///< std of the level; infinity: uniform from 0 to the magnitude
  double magnitude_max = 10;     ///< levels are clipped to 0 .. magnitude_max
};

/// Whether the argument is negated (or inverted to below 1) with probability 1/2.
[[nodiscard]] bool is_signed(AugmentKind kind);
/// timm's argument at a level: degrees, shear factor, pixels or share of the side, bits to keep,
/// threshold, addend, or factor. `sign` is 1 or -1. Returns 0 for operations without an argument.
[[nodiscard]] double augment_argument(AugmentKind kind, double level, double sign,
                                      const AugmentSettings& settings);
/// Applies the operation with a given argument; targets move with the image. gaussian_blur_rand
/// takes the radius that was drawn.
[[nodiscard]] Sample apply_augment(AugmentKind kind, Sample sample, double argument,
                                   const Sampling& sampling);

/// One step of a policy.
struct AugmentOp {
  AugmentKind kind{};
  double probability = 0.5;
  double magnitude = 10;
  friend bool operator==(const AugmentOp&, const AugmentOp&) = default;
};

/// The random choices of one application of a step.
struct AugmentDraw {
  bool applied = false;
  double level = 0, argument = 0;
  Filter filter = Filter::bicubic;
};
/// Draws whether to apply the step, its level, direction and filter.
[[nodiscard]] AugmentDraw draw_augment(const AugmentOp& op, const AugmentSettings& settings,
                                       Rng& rng);
/// Draws and applies the step.
[[nodiscard]] Sample augment(Sample sample, const AugmentOp& op, const AugmentSettings& settings,
                             Rng& rng);

}  // namespace fovea
