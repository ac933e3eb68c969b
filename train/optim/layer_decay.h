// Learning rates that decrease from the head to the stem, for fine-tuning (Clark et al. 2020;
// BEiT).
#pragma once

#include <cstdint>

#include "engine/base/names.h"
#include "models/scope.h"

namespace fovea {

/// Layer of the norm after the blocks: that of the last block (timm) or that of the head (MAE's
/// code).
enum class LastNorm { with_block, with_head };
template <>
inline constexpr auto kNames<LastNorm> = std::to_array<Named<LastNorm>>(
    {{LastNorm::with_block, "block"}, {LastNorm::with_head, "head"}});

/// scale = decay^(n - layer), n = depth + 1. Layers are numbered as in timm's
/// param_groups_layer_decay: 0 for tokens, patch embedding and, outside of blocks, everything about
/// positions (also PerViT's stem and CPVT's PEGs); i + 1 for block i; `norm` by LastNorm; n for
/// `fc_norm`, the heads and an autoencoder's decoder.
class LayerScales {
 public:
  /// Throws unless 0 < decay <= 1.
  LayerScales(const ParameterStore& store, double decay, LastNorm last_norm = LastNorm::with_block);

  [[nodiscard]] std::int64_t layer_of(const Parameter& parameter) const;
  [[nodiscard]] double of(const Parameter& parameter) const;

 private:
  double decay_;
  LastNorm last_norm_;
  std::int64_t depth_ = 0;  ///< number of blocks
};

}  // namespace fovea
