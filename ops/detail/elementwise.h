// map(functor, inputs...): one functor, the CPU loop of the active instruction set or the CUDA
// kernel. Functors are trivially copyable, have `template <class T> FOVEA_HD T operator()(T...)`
// and stand in the type lists of ops/detail/*_functors.h; both back ends instantiate those lists.
#pragma once

#include <array>

#include "engine/tensor.h"
#include "ops/detail/functor_list.h"

namespace fovea::ops::detail {

/// One elementwise call after broadcasting: equal dtypes, axes merged where strides allow.
struct MapCall {
  static constexpr int kMaxInputs = 4;

  const void* functor = nullptr;
  int inputs = 0;
  Shape shape;                                       ///< collapsed
  std::byte* out = nullptr;
  Strides out_strides;
  std::array<const std::byte*, kMaxInputs> in{};
  std::array<Strides, kMaxInputs> in_strides;        ///< 0 where repeated
};

/// Fills `out` (defined: written in place; else made) with functor(inputs...), broadcast.
Tensor map_erased(int functor_id, const void* functor, std::span<const Tensor> inputs, Tensor out);

template <class F, class... Inputs>
Tensor map(const F& functor, const Inputs&... inputs) {
  const std::array<Tensor, sizeof...(Inputs)> in{inputs...};
  return map_erased(functor_id<F>, &functor, in, {});
}

/// map() into a tensor that exists.
template <class F, class... Inputs>
void map_into(const Tensor& out, const F& functor, const Inputs&... inputs) {
  const std::array<Tensor, sizeof...(Inputs)> in{inputs...};
  map_erased(functor_id<F>, &functor, in, out);
}

}  // namespace fovea::ops::detail
