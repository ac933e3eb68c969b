// Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019) of a batch, as timm does them in mode
// "batch": one draw for all samples, the partner of sample i is sample B - 1 - i.
#pragma once

#include "data/batch.h"
#include "data/image.h"
#include "engine/rng.h"

namespace fovea {

struct MixOptions {
  double mixup = 0.8;               ///< alpha of lambda ~ Beta(alpha, alpha); 0: no mixup
  double cutmix = 1.0;              ///< the same for cutmix
  double probability = 1.0;         ///< of mixing a batch at all
  double switch_probability = 0.5;  ///< of cutmix where both are on
  double smoothing = 0.1;           ///< label smoothing inside the targets
  std::int64_t classes = 10;
};

/// What is done to one batch. lambda is the share of a sample's own label; 1 and an empty box leave
/// the images as they are.
struct MixDraw {
  double lambda = 1;
  bool is_cutmix = false;
  PixelBox box{};  ///< copied from the partner (cutmix)
};

/// Draws for images of height x width. Throws on options out of range.
[[nodiscard]] MixDraw draw_mix(const MixOptions& options, std::int64_t height, std::int64_t width,
                               Rng& rng);
/// The square of relative area 1 - lambda around (y, x), cut off at the image's edges; lambda is
/// then what the cut leaves of the sample itself.
[[nodiscard]] MixDraw cutmix_draw(double lambda, std::int64_t y, std::int64_t x,
                                  std::int64_t height, std::int64_t width);

/// f32 [B, 3, H, W]: mixup lambda x + (1 - lambda) flip(x), or cutmix.
[[nodiscard]] Tensor mix_images(const Tensor& images, const MixDraw& draw);
/// f32 [B, K]: lambda y + (1 - lambda) flip(y), y = 1 - s + s / K for the label, s / K elsewhere.
[[nodiscard]] Tensor mix_targets(const Tensor& labels, const MixDraw& draw,
                                 const MixOptions& options);

struct MixedBatch {
  Tensor images;   ///< f32 [B, 3, H, W]
  Tensor targets;  ///< f32 [B, K]
};
/// Draws and applies. Throws when B is odd: then a sample would be its own partner.
[[nodiscard]] MixedBatch mix(const Batch& batch, const MixOptions& options, Rng& rng);

}  // namespace fovea
