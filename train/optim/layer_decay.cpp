// Layer-wise learning rates: a parameter's layer follows from its role and block.
#include "train/optim/layer_decay.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace fovea {

LayerScales::LayerScales(const ParameterStore& store, double decay, LastNorm last_norm)
    : decay_(decay), last_norm_(last_norm) {
  check(decay > 0 && decay <= 1, "layer decay: got ", decay, ", expected 0 < decay <= 1");
  for (const Parameter& p : store.parameters()) depth_ = std::max(depth_, p.block + 1);
}

std::int64_t LayerScales::layer_of(const Parameter& parameter) const {
  if (parameter.in_decoder) return depth_ + 1;
  if (parameter.block >= 0) return parameter.block + 1;
  switch (parameter.role) {
    case Role::token:
    case Role::distillation_token:
    case Role::register_token:
    case Role::position_table:
    case Role::position_encoding:
    case Role::patches:
    case Role::embed_norm:
      return 0;
    case Role::norm:
      return last_norm_ == LastNorm::with_block ? depth_ : depth_ + 1;
    default:
      return depth_ + 1;
  }
}

double LayerScales::of(const Parameter& parameter) const {
  return std::pow(decay_, static_cast<double>(depth_ + 1 - layer_of(parameter)));
}

}  // namespace fovea
