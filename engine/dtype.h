// Element types and the dispatch from a run-time DType to a compile-time type.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/base/names.h"
#include "engine/device.h"

namespace fovea {

enum class DType : std::uint8_t { f64, f32, bf16, i64, u8 };
template <>
inline constexpr auto kNames<DType> = std::to_array<Named<DType>>({{DType::f64, "f64"},
                                                                   {DType::f32, "f32"},
                                                                   {DType::bf16, "bf16"},
                                                                   {DType::i64, "i64"},
                                                                   {DType::u8, "u8"}});

/// Converts the bits of an f32 to those of a bf16, rounding to nearest even; a NaN stays a NaN and
/// becomes quiet. U is a 32-bit unsigned integer or a vector of them, IsNan a bool or a vector's
/// comparison.
template <class U, class IsNan>
FOVEA_HD inline U round_to_bf16(U f32_bits, IsNan is_nan) {
  const U rounded = f32_bits + 0x7fffu + ((f32_bits >> 16) & 1u);
  return (is_nan ? f32_bits | 0x00400000u : rounded) >> 16;
}

/// The upper half of an f32. Arithmetic is always done in f32; conversion rounds to nearest even.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  FOVEA_HD explicit bf16(float value)
      : bits(static_cast<std::uint16_t>(round_to_bf16(__builtin_bit_cast(std::uint32_t, value),
                                                      value != value))) {}  // NOLINT: true for NaN
  template <class T>
  requires std::is_arithmetic_v<T> FOVEA_HD explicit bf16(T value)
      : bf16(static_cast<float>(value)) {}
  FOVEA_HD operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};

/// The type in which values of T are computed and summed: f32 for bf16, otherwise T itself.
template <class T>
struct accumulate_type {
  using type = T;
};
template <>
struct accumulate_type<bf16> {
  using type = float;
};
template <class T>
using acc_t = typename accumulate_type<T>::type;

template <class T>
inline constexpr DType dtype_of = DType{};
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;

[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
  constexpr std::size_t sizes[] = {8, 4, 2, 8, 1};
  return sizes[static_cast<std::size_t>(dtype)];
}
[[nodiscard]] constexpr bool is_float(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::bf16;
}
[[nodiscard]] std::string_view to_string(DType dtype);
/// "f64", "f32", "bf16", "i64" or "u8". Throws on anything else.
[[nodiscard]] DType parse_dtype(std::string_view text);
std::ostream& operator<<(std::ostream& out, DType dtype);

/// The dtype of acc_t: f64 for f64, otherwise f32.
[[nodiscard]] constexpr DType acc_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

// Dispatch from a DType to its type: calls f(T{}). These do not throw, so that kernels may use
// them; ops check that a dtype is one of the listed types when tensors enter.

/// T is double, float or bf16.
template <class F>
decltype(auto) dispatch_float(DType dtype, const F& f) {
  assert(is_float(dtype));
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f32:
      return f(float{});
    default:
      return f(bf16{});
  }
}

/// T is double or float: the dtypes of sums, statistics and parameters.
template <class F>
decltype(auto) dispatch_wide(DType dtype, const F& f) {
  assert(dtype == acc_dtype(dtype));
  return dtype == DType::f64 ? f(double{}) : f(float{});
}

/// T is the type of any dtype.
template <class F>
decltype(auto) dispatch_any(DType dtype, const F& f) {
  switch (dtype) {
    case DType::i64:
      return f(std::int64_t{});
    case DType::u8:
      return f(std::uint8_t{});
    default:
      return dispatch_float(dtype, f);
  }
}

}  // namespace fovea
