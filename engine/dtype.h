// Element types and the dispatch from a run-time DType to a compile-time type.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "engine/check.h"
#include "engine/device.h"

namespace fovea {

enum class DType : std::uint8_t { f64, f32, bf16, i64, u8 };

/// The upper half of an f32. Arithmetic is always done in f32; conversion rounds to nearest even.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  FOVEA_HD explicit bf16(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
    const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>((is_nan ? (u | 0x00400000u) : rounded) >> 16);
  }
  template <class T>
  requires std::is_arithmetic_v<T> FOVEA_HD explicit bf16(T value)
      : bf16(static_cast<float>(value)) {}
  FOVEA_HD operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// The type in which values of T are computed and summed: f32 for bf16, else T itself.
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

/// Calls f(T{}) with T = double, float or bf16; throws "op: ..." for an integer dtype.
template <class F>
decltype(auto) dispatch_float(DType dtype, std::string_view op, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(bf16{});
    default:
      fail(op, ": got dtype ", to_string(dtype), ", expected f64, f32 or bf16");
  }
}

/// Calls f(T{}) with T of any dtype.
template <class F>
decltype(auto) dispatch_any(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(bf16{});
    case DType::i64:
      return f(std::int64_t{});
    default:
      return f(std::uint8_t{});
  }
}

}  // namespace fovea
