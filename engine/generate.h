// Filling a new tensor from a function of the position. Private to engine/.
#pragma once

#include <cstdint>

#include "engine/parallel.h"
#include "engine/tensor.h"

namespace fovea {

/// Creates a tensor with element i = value(i), computed in f64 on the CPU, then converted and
/// moved. Each thread calls a copy of `value`, for ascending positions.
template <class Value>
[[nodiscard]] Tensor generate(const Shape& shape, TensorOptions options, Value&& value) {
  Tensor t = empty(shape, {options.dtype, {}});
  dispatch_any(options.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* const data = t.data<T>();
    parallel_for(t.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      auto own = value;  // it may keep what several elements share
      for (std::int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(own(i));
    });
  });
  return t.to(options.device);
}

}  // namespace fovea
