// The numbered list of all elementwise functors; CPU tables and CUDA launches instantiate it.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/elementwise/activation_functors.h"
#include "ops/elementwise/arithmetic_functors.h"
#include "ops/elementwise/coordinate_functors.h"
#include "ops/elementwise/dropout_functors.h"
#include "ops/elementwise/type_list.h"

namespace fovea::ops::detail {

using AllFunctors = Concat<ArithmeticFunctors, DerivativeFunctors, ActivationFunctors,
                           DropoutFunctors, CoordinateFunctors>::type;

/// The ID of a functor: its position in AllFunctors.
template <class F>
inline constexpr int functor_id = [] {
  constexpr int id = index_of<F>(AllFunctors{});
  static_assert(id < AllFunctors::kSize, "add the functor to the type list of its family");
  return id;
}();

/// Functors that also support integers declare `static constexpr bool kIntegers = true`.
template <class F>
concept TakesIntegers = F::kIntegers;

/// Functors of the element's row-major position declare `static constexpr bool kIndexed = true`
/// and take it as their first argument of type std::int64_t.
template <class F>
concept TakesIndex = F::kIndexed;

/// Whether a functor depends on the position alone and returns a double.
template <class F>
concept Generator = TakesIndex<F> && std::is_invocable_r_v<double, const F&, std::int64_t>;

/// The functor resolved for the current step: a functor that reads a number in memory has a member
/// at_step(). Kernels call it once, before their loop.
template <class F>
FOVEA_HD inline F at_this_step(const F& functor) {
  if constexpr (requires { functor.at_step(); }) {
    return functor.at_step();
  } else {
    return functor;
  }
}

/// Number of tensors that a functor reads: 0 to 4.
template <class F>
[[nodiscard]] constexpr int functor_inputs() {
  using I = std::int64_t;
  if constexpr (Generator<F>) {
    return 0;
  } else if constexpr (TakesIndex<F>) {
    return std::is_invocable_v<const F&, I, float> ? 1 : 2;
  } else if constexpr (std::is_invocable_v<const F&, float>) {
    return 1;
  } else if constexpr (std::is_invocable_v<const F&, float, float>) {
    return 2;
  } else {
    return std::is_invocable_v<const F&, float, float, float> ? 3 : 4;
  }
}

}  // namespace fovea::ops::detail
