// map(functor, inputs...): one functor, the CPU loop of the active instruction set or the CUDA
// kernel. Functors are trivially copyable, have `template <class T> FOVEA_HD T operator()(T...)`
// and stand in the type lists of ops/detail/*_functors.h; both back ends instantiate those lists.
#pragma once

#include <array>
#include <span>

#include "engine/tensor.h"
#include "ops/detail/functor_list.h"

namespace fovea::ops::detail {

/// One elementwise call after broadcasting, axes merged where all strides allow. Every input is
/// converted to `compute` when it is read and the result to `out_dtype` when it is written.
struct MapCall {
  static constexpr int kMaxInputs = 4;

  const void* functor = nullptr;
  int inputs = 0;
  DType compute = DType::f32;  ///< f64, f32, or i64 when all inputs are integers
  Shape shape;                 ///< merged; at least one axis
  std::byte* out = nullptr;    ///< contiguous
  DType out_dtype = DType::f32;
  std::array<const std::byte*, kMaxInputs> in{};
  std::array<DType, kMaxInputs> in_dtype{};
  std::array<Strides, kMaxInputs> in_strides;  ///< 0 where repeated
};

/// Fills `out` (defined: written in place; else made) with functor(inputs...), broadcast. A new
/// output has the widest float dtype among the inputs; u8 masks may stand beside floats.
Tensor map_erased(int functor_id, const void* functor, std::span<const Tensor> inputs, Tensor out);

template <class F, class... Inputs>
Tensor map(const F& functor, const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) == functor_inputs<F>());
  const std::array<Tensor, sizeof...(Inputs)> in{inputs...};
  return map_erased(functor_id<F>, &functor, in, {});
}

/// map() into a tensor that exists, of any dtype.
template <class F, class... Inputs>
void map_into(const Tensor& out, const F& functor, const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) == functor_inputs<F>());
  const std::array<Tensor, sizeof...(Inputs)> in{inputs...};
  map_erased(functor_id<F>, &functor, in, out);
}

}  // namespace fovea::ops::detail
