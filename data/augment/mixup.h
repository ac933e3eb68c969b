// Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019) of a batch, as in timm: the partner of
// sample i is sample B - 1 - i; one draw applies to the batch, to a pair or to a single sample.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "data/image.h"
#include "data/loading/batch.h"
#include "engine/base/names.h"
#include "engine/rng.h"

namespace fovea {

enum class MixMode { batch, pair, element };
template <>
inline constexpr auto kNames<MixMode> = std::to_array<Named<MixMode>>({{MixMode::batch, "batch"},
                                                                       {MixMode::pair, "pair"},
                                                                       {MixMode::element, "elem"}});

struct MixOptions {
  double mixup = 0.8;               ///< alpha of lambda ~ Beta(alpha, alpha); 0: no mixup
  double cutmix = 1.0;              ///< alpha for cutmix
  double probability = 1.0;         ///< probability of mixing a batch at all
  double switch_probability = 0.5;  ///< probability of cutmix when both are enabled
  double smoothing = 0.1;           ///< label smoothing in the mixed targets
  std::int64_t classes = 10;
  MixMode mode = MixMode::batch;
  /// Minimum and maximum share of a side, drawn for height and width; replaces lambda and alpha of
  /// cutmix.
  std::optional<std::array<double, 2>> cutmix_minmax{};
};

/// The mixing of one sample. lambda is the weight of its own label; lambda 1 with an empty box
/// leaves the image unchanged.
struct MixDraw {
  double lambda = 1;
  bool is_cutmix = false;
  PixelBox box{};  ///< region copied from the partner (cutmix)
};

/// Draws for images of height x width. Throws on options out of range.
[[nodiscard]] MixDraw draw_mix(const MixOptions& options, std::int64_t height, std::int64_t width,
                               Rng& rng);
/// The draws for a batch of images [B, C, H, W], one per sample. Throws when B is odd: a sample
/// would be its own partner.
[[nodiscard]] std::vector<MixDraw> draw_mixes(const MixOptions& options, const Shape& images,
                                              Rng& rng);
/// A square of relative area 1 - lambda around (y, x), clipped to the image; lambda is then
/// recomputed from the clipped area.
[[nodiscard]] MixDraw cutmix_draw(double lambda, std::int64_t y, std::int64_t x,
                                  std::int64_t height, std::int64_t width);

/// Mixes images, f32 or u8 [B, C, H, W]: mixup lambda x + (1 - lambda) flip(x), or cutmix. `draws`
/// has one entry for all samples or one per sample. u8 values are rounded half to even. Reuses the
/// memory of the images if no one else refers to it.
[[nodiscard]] Tensor mix_images(Tensor images, std::span<const MixDraw> draws);
/// f32 [B, K]: lambda y + (1 - lambda) flip(y), with y = 1 - s + s / K for the label, s / K
/// elsewhere.
[[nodiscard]] Tensor mix_targets(const Tensor& labels, std::span<const MixDraw> draws,
                                 const MixOptions& options);

/// Draws and applies: mixes the images, in place if possible, and adds "targets", f32 [B, K]. Raw
/// pixels are mixed later, with the same draws. The batch must be on the CPU.
[[nodiscard]] Batch mix(Batch batch, const MixOptions& options, Rng& rng);

}  // namespace fovea
