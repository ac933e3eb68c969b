// The initial values of the original ViT.
#pragma once

#include <cstdint>

#include "models/model.h"

namespace fovea {

/// --init jax. A function of the seed. Throws UsageError where the model has other blocks than
/// ViT's.
void initialise_as_jax(const Model& model, std::uint64_t seed);

}  // namespace fovea
