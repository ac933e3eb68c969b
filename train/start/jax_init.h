// The initial values of the original ViT.
#pragma once

#include <cstdint>

#include "models/model.h"

namespace fovea {

/// --init jax, a function of the seed. Throws UsageError unless the model has ViT's blocks.
void initialise_as_jax(const Model& model, std::uint64_t seed);

}  // namespace fovea
