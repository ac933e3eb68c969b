// Weights of which no second copy in another dtype is kept.
#pragma once

#include "engine/tensor.h"

namespace fovea {

/// For a weight that will only be read: the first cached_to() another dtype converts `t` itself,
/// for all its handles, and frees its values. After that it has the other dtype alone, and
/// cached_to() throws if asked for another. Views that exist keep the old values.
void keep_single_copy(const Tensor& t);

}  // namespace fovea
