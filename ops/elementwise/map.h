// map(functor, inputs...) and map(generator, shape, options). Functors are trivially copyable,
// have `template <class T> FOVEA_HD T operator()(T...)` and are listed in the type lists of
// *_functors.h, which the kernels of every device instantiate. The way of a functor to its loop:
//
//   gelu(x)                      activation.cpp   pointwise(op, x, Gelu{}, GeluGrad{})
//   map(Gelu{}, x)               map.h            the type becomes a number: functor_id<Gelu>
//   map_erased(...)              map.cpp          shapes and dtypes become a MapCall
//   kernels(device).elementwise  ops/kernels.h    the table of the device, its entry `map`
//     |
//     +-- CPU:   cpu.cpp         kLoops.tiles[functor_id] is tile<Gelu, float>; threads call it for
//     |                          512 elements at a time, and its loop is out[i] = f(x[i])
//     +-- CUDA:  elementwise.cu  table.of[functor_id] is run_map<Gelu, float>; it launches a
//                                map_items_kernel, whose threads compute f(x[0]) for eight elements
#pragma once

#include <array>
#include <span>

#include "engine/tensor.h"
#include "ops/elementwise/functor_list.h"

namespace fovea::ops::detail {

/// The type-erased form of a functor.
struct ErasedFunctor {
  int id;
  bool takes_integers;
  const void* functor;
};
template <class F>
[[nodiscard]] ErasedFunctor erased(const F& functor) {
  return {functor_id<F>, TakesIntegers<F>, &functor};
}

/// Computes functor(inputs...) with broadcasting. A defined `out` is written in place; otherwise a
/// new tensor is returned with the widest float dtype among the inputs. u8 masks may be mixed with
/// floats.
Tensor map_erased(const ErasedFunctor& functor, std::span<const Tensor> inputs, Tensor out);
/// A new tensor from a functor without inputs.
[[nodiscard]] Tensor generate_erased(const ErasedFunctor& functor, const Shape& shape,
                                     TensorOptions options);

template <Generator F>
[[nodiscard]] Tensor map(const F& generator, const Shape& shape, TensorOptions options) {
  return generate_erased(erased(generator), shape, options);
}

template <class F, class... Inputs>
Tensor map(const F& functor, const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) == functor_inputs<F>());
  const std::array<Tensor, sizeof...(Inputs)> in{inputs...};
  return map_erased(erased(functor), in, {});
}

/// map() into an existing tensor of any dtype.
template <class F, class... Inputs>
void map_into(const Tensor& out, const F& functor, const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) == functor_inputs<F>());
  const std::array<Tensor, sizeof...(Inputs)> in{inputs...};
  map_erased(erased(functor), in, out);
}

}  // namespace fovea::ops::detail
