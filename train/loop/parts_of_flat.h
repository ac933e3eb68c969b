// Several tensors as parts of one vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/tensor.h"

namespace fovea {

/// Calls f(i, elements of tensor i in `flat`, in its shape).
template <class F>
void for_each_part(const Tensor& flat, std::span<const Tensor> tensors, const F& f) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Shape& shape = tensors[i].shape();
    f(i, flat.alias(shape, contiguous_strides(shape), at));
    at += tensors[i].numel();
  }
}

}  // namespace fovea
