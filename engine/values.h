// Tensors from and to spans and vectors of any type of number. engine/tensor.h has the forms for
// doubles.
#pragma once

#include <concepts>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// The type of a tensor's elements.
template <class T>
concept ElementType = std::same_as<T, double> || std::same_as<T, float> || std::same_as<T, bf16> ||
    std::same_as<T, std::int64_t> || std::same_as<T, std::uint8_t>;
/// A type whose values can be elements: int, std::uint16_t, ...
template <class T>
concept ElementValue = ElementType<T> ||
    (std::is_arithmetic_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>);

namespace detail {
/// The element type that holds the values of T.
template <ElementValue T>
using element_for =
    std::conditional_t<ElementType<T>, T,
                       std::conditional_t<std::is_integral_v<T>, std::int64_t, double>>;
[[nodiscard]] Tensor from_elements(const Shape& shape, DType dtype,
                                   std::span<const std::byte> values, TensorOptions options);
/// Contiguous on the CPU.
[[nodiscard]] Tensor elements_of(const Tensor& tensor, DType dtype);
[[noreturn]] void refuse_value(const char* function);

template <class To, class From>
[[nodiscard]] To narrowed(From value, [[maybe_unused]] const char* function) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if (!std::in_range<To>(value)) refuse_value(function);
  }
  return static_cast<To>(value);
}
}  // namespace detail

/// Row-major values, converted to the dtype; throws unless their number is shape.numel(). Integers
/// are exact in an i64 tensor.
template <ElementValue T>
[[nodiscard]] Tensor from_values(const Shape& shape, std::span<const T> values,
                                 TensorOptions options = {}) {
  using Element = detail::element_for<T>;
  if constexpr (std::same_as<Element, T>) {
    return detail::from_elements(shape, dtype_of<T>, std::as_bytes(values), options);
  } else {
    std::vector<Element> elements;
    elements.reserve(values.size());
    for (const T value : values)
      elements.push_back(detail::narrowed<Element>(value, "from_values"));
    return detail::from_elements(shape, dtype_of<Element>, std::as_bytes(std::span(elements)),
                                 options);
  }
}
template <ElementValue T>
[[nodiscard]] Tensor from_values(const Shape& shape, const std::vector<T>& values,
                                 TensorOptions options = {}) {
  return from_values(shape, std::span<const T>(values), options);
}

/// All elements, row-major, as T: floats become integers as by Tensor::to(). Throws on an integer
/// that T cannot hold.
template <ElementValue T>
[[nodiscard]] std::vector<T> to_vector(const Tensor& tensor) {
  using Element = detail::element_for<T>;
  const Tensor elements = detail::elements_of(tensor, dtype_of<Element>);
  const Element* const first = elements.numel() == 0 ? nullptr : elements.data<Element>();
  if constexpr (std::same_as<Element, T>) {
    return {first, first + elements.numel()};
  } else {
    std::vector<T> values;
    values.reserve(static_cast<std::size_t>(elements.numel()));
    for (const Element value : std::span(first, static_cast<std::size_t>(elements.numel())))
      values.push_back(detail::narrowed<T>(value, "to_vector"));
    return values;
  }
}

}  // namespace fovea
