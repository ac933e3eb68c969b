// Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019) of a batch, as timm does them: the partner
// of sample i is sample B - 1 - i; the draw is one for all, one for each pair or one for each
// sample.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/names.h"
#include "data/image.h"
#include "data/loading/batch.h"
#include "engine/rng.h"

namespace fovea {

enum class MixMode { batch, pair, element };
template <>
inline constexpr auto kNames<MixMode> = std::to_array<Named<MixMode>>({{MixMode::batch, "batch"},
                                                                       {MixMode::pair, "pair"},
                                                                       {MixMode::element, "elem"}});

struct MixOptions {
  double mixup = 0.8;               ///< alpha of lambda ~ Beta(alpha, alpha); 0: no mixup
  double cutmix = 1.0;              ///< the same for cutmix
  double probability = 1.0;         ///< of mixing a batch at all
  double switch_probability = 0.5;  ///< of cutmix where both are on
  double smoothing = 0.1;           ///< label smoothing inside the targets
  std::int64_t classes = 10;
  MixMode mode = MixMode::batch;
  /// Least and largest share of a side, drawn for height and width; replaces lambda and alpha of
  /// cutmix.
  std::optional<std::array<double, 2>> cutmix_minmax{};
};

/// What is done to one sample. lambda is the share of its own label; 1 and an empty box leave the
/// image as it is.
struct MixDraw {
  double lambda = 1;
  bool is_cutmix = false;
  PixelBox box{};  ///< copied from the partner (cutmix)
};

/// Draws for images of height x width. Throws on options out of range.
[[nodiscard]] MixDraw draw_mix(const MixOptions& options, std::int64_t height, std::int64_t width,
                               Rng& rng);
/// The draws of a batch of images [B, C, H, W], one for each sample. Throws when B is odd: then a
/// sample would be its own partner.
[[nodiscard]] std::vector<MixDraw> draw_mixes(const MixOptions& options, const Shape& images,
                                              Rng& rng);
/// The square of relative area 1 - lambda around (y, x), cut off at the image's edges; lambda is
/// then what the cut leaves of the sample itself.
[[nodiscard]] MixDraw cutmix_draw(double lambda, std::int64_t y, std::int64_t x,
                                  std::int64_t height, std::int64_t width);

/// Like images, f32 or u8 [B, C, H, W]: mixup lambda x + (1 - lambda) flip(x), or cutmix. `draws`
/// are one for all or one for each. u8 values are rounded, halves to even. Where nobody else holds
/// the images, their memory is used again.
[[nodiscard]] Tensor mix_images(Tensor images, std::span<const MixDraw> draws);
/// f32 [B, K]: lambda y + (1 - lambda) flip(y), y = 1 - s + s / K for the label, s / K elsewhere.
[[nodiscard]] Tensor mix_targets(const Tensor& labels, std::span<const MixDraw> draws,
                                 const MixOptions& options);

/// Draws and applies: images are mixed, in their own memory where they can be, and "targets" f32
/// [B, K] is added. The batch is on the CPU.
[[nodiscard]] Batch mix(Batch batch, const MixOptions& options, Rng& rng);

}  // namespace fovea
