// Learning rates that fall from the head to the stem, for fine-tuning (Clark et al. 2020; BEiT).
#pragma once

#include <cstdint>
#include "models/scope.h"

namespace fovea {

/// scale = decay^(n - layer), n = depth + 1. Layers as timm's param_groups_layer_decay counts them:
/// tokens, patches and, outside of blocks, everything about positions is 0 (PerViT's stem and
/// CPVT's PEGs too), block i is i + 1, `norm` goes with the last block, `fc_norm` and the heads are
/// n.
class LayerScales {
 public:
  /// 0 < decay <= 1; throws otherwise.
  LayerScales(const ParameterStore& store, double decay);

  [[nodiscard]] std::int64_t layer_of(const Parameter& parameter) const;
  [[nodiscard]] double of(const Parameter& parameter) const;

 private:
  double decay_;
  std::int64_t depth_ = 0;  ///< number of blocks
};

}  // namespace fovea
