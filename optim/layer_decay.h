// Learning rates that fall from the head to the stem, for fine-tuning (Clark et al. 2020; BEiT).
#pragma once

#include <cstdint>

#include "base/names.h"
#include "models/scope.h"

namespace fovea {

/// Where the norm behind the blocks counts: with the last block, as timm has it, or after it, with
/// the head, as MAE's code has it.
enum class LastNorm { with_block, with_head };
template <>
inline constexpr auto kNames<LastNorm> = std::to_array<Named<LastNorm>>(
    {{LastNorm::with_block, "block"}, {LastNorm::with_head, "head"}});

/// scale = decay^(n - layer), n = depth + 1. Layers as timm's param_groups_layer_decay counts them:
/// tokens, patches and, outside of blocks, everything about positions is 0 (PerViT's stem and
/// CPVT's PEGs too), block i is i + 1, `norm` as LastNorm says, `fc_norm`, the heads and an
/// autoencoder's decoder are n.
class LayerScales {
 public:
  /// 0 < decay <= 1; throws otherwise.
  LayerScales(const ParameterStore& store, double decay, LastNorm last_norm = LastNorm::with_block);

  [[nodiscard]] std::int64_t layer_of(const Parameter& parameter) const;
  [[nodiscard]] double of(const Parameter& parameter) const;

 private:
  double decay_;
  LastNorm last_norm_;
  std::int64_t depth_ = 0;  ///< number of blocks
};

}  // namespace fovea
