// Tensors that keep their place in a device's memory while their values change, for recorded work
// that reads or writes them there.
#pragma once

#include "engine/tensor.h"

namespace fovea {

/// A place for a value like x; its values are not set.
[[nodiscard]] Tensor place_for(const Tensor& x);
/// Copies x into a place_for() it. On a GPU this is a copy, not a launch of a kernel.
void put_into(const Tensor& place, const Tensor& x);

}  // namespace fovea
