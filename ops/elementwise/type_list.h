// Compile-time type lists, over which the elementwise back ends instantiate their loops.
#pragma once

#include <array>
#include <type_traits>

namespace fovea::ops::detail {

template <class... Types>
struct TypeList {
  static constexpr int kSize = static_cast<int>(sizeof...(Types));
};

template <class... Lists>
struct Concat;
template <class... A, class... B, class... Rest>
struct Concat<TypeList<A...>, TypeList<B...>, Rest...> : Concat<TypeList<A..., B...>, Rest...> {};
template <class... A>
struct Concat<TypeList<A...>> {
  using type = TypeList<A...>;
};

/// Position of T in the list; kSize if it is absent.
template <class T, class... Types>
[[nodiscard]] constexpr int index_of(TypeList<Types...>) {
  const std::array<bool, sizeof...(Types)> matches{std::is_same_v<T, Types>...};
  int index = 0;
  while (index < TypeList<Types...>::kSize && !matches[static_cast<std::size_t>(index)]) ++index;
  return index;
}

}  // namespace fovea::ops::detail
