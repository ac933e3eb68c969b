// Learning rates that fall from the head to the stem, for fine-tuning (Clark et al. 2020; BEiT).
#pragma once

#include <cstdint>
#include <string_view>

#include "models/scope.h"

namespace fovea {

/// scale = decay^(n - layer), n = depth + 1. Layers as timm's param_groups_layer_decay counts them:
/// the stem and everything about positions is 0 (tokens, position embeddings, patches, PerViT's
/// stem, CPVT's PEGs), block i is i + 1, `norm` goes with the last block, `fc_norm` and the heads
/// are n.
class LayerScales {
 public:
  /// 0 < decay <= 1; throws otherwise.
  LayerScales(const ParameterStore& store, double decay);

  [[nodiscard]] std::int64_t layer_of(std::string_view name) const;
  [[nodiscard]] double of(std::string_view name) const;

 private:
  double decay_;
  std::int64_t depth_ = 0;  ///< number of blocks
};

}  // namespace fovea
