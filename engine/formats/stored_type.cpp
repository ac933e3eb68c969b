// Names, sizes and conversions of stored types.
#include "engine/formats/stored_type.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

static_assert(std::endian::native == std::endian::little, "files of weights are little-endian");

float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u,
                      fraction = half & 0x3ffu;
  if (exponent == 0) {  // zero and subnormal: fraction * 2^-24
    return std::bit_cast<float>(
        sign | std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f));
  }
  const std::uint32_t biased = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (biased << 23) | (fraction << 13));
}

/// One sign bit and 5 bits of exponent, as the upper half of an f16.
float float_of_e5m2(std::uint8_t bits) {
  return float_of_half(static_cast<std::uint16_t>(bits << 8));
}

/// The exponent is biased by 7, and all ones but the last value, NaN, are numbers.
float float_of_e4m3(std::uint8_t bits) {
  const std::uint32_t sign = (bits & 0x80u) << 24, rest = bits & 0x7fu;
  if (rest == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (rest < 8) {  // zero and subnormal: fraction * 2^-9
    return std::bit_cast<float>(sign |
                                std::bit_cast<std::uint32_t>(static_cast<float>(rest) * 0x1p-9f));
  }
  return std::bit_cast<float>(sign | ((rest << 20) + (120u << 23)));
}

/// Element i of `tensor` is convert(element i of the stored bytes).
template <class Stored, class T, class Convert>
void convert_into(const Tensor& tensor, std::span<const std::byte> bytes, Convert&& convert) {
  T* const out = tensor.data<T>();
  for (std::size_t i = 0; i < bytes.size() / sizeof(Stored); ++i) {
    Stored value;
    std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<T>(convert(value));
  }
}

template <class Stored>
void widen_into(const Tensor& tensor, std::span<const std::byte> bytes) {
  convert_into<Stored, std::int64_t>(tensor, bytes, [](Stored v) { return v; });
}

void convert(const StoredEntry& entry, std::span<const std::byte> bytes, const Tensor& tensor,
             const std::string& context) {
  switch (entry.type) {
    case StoredType::f16:
      return convert_into<std::uint16_t, float>(tensor, bytes, float_of_half);
    case StoredType::f8_e4m3:
      return convert_into<std::uint8_t, float>(tensor, bytes, float_of_e4m3);
    case StoredType::f8_e5m2:
      return convert_into<std::uint8_t, float>(tensor, bytes, float_of_e5m2);
    case StoredType::boolean:
      return convert_into<std::uint8_t, std::uint8_t>(tensor, bytes,
                                                      [](std::uint8_t v) { return v != 0; });
    case StoredType::i8:
      return convert_into<std::uint8_t, std::int64_t>(
          tensor, bytes, [](std::uint8_t v) { return v < 128 ? v : v - 256; });
    case StoredType::i16:
      return widen_into<std::int16_t>(tensor, bytes);
    case StoredType::u16:
      return widen_into<std::uint16_t>(tensor, bytes);
    case StoredType::i32:
      return widen_into<std::int32_t>(tensor, bytes);
    case StoredType::u32:
      return widen_into<std::uint32_t>(tensor, bytes);
    default:
      return convert_into<std::uint64_t, std::int64_t>(tensor, bytes, [&](std::uint64_t v) {
        if (v >> 63 != 0) {
          fail(context, ": tensor ", in_quotes(entry.name), " contains ", v, ", too large for i64");
        }
        return v;
      });
  }
}

}  // namespace

std::string_view to_string(StoredType type) {
  return kNames<StoredType>[static_cast<std::size_t>(type)].name;
}

std::uint64_t size_of(StoredType type) {
  constexpr std::uint64_t sizes[] = {1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8, 1, 1};
  return sizes[static_cast<std::size_t>(type)];
}

StoredType stored_type(DType dtype) {
  constexpr StoredType types[] = {StoredType::f64, StoredType::f32, StoredType::bf16,
                                  StoredType::i64, StoredType::u8};
  return types[static_cast<std::size_t>(dtype)];
}

DType held_dtype(StoredType type) {
  switch (type) {
    case StoredType::f64:
      return DType::f64;
    case StoredType::f32:
    case StoredType::f16:
    case StoredType::f8_e4m3:
    case StoredType::f8_e5m2:
      return DType::f32;
    case StoredType::bf16:
      return DType::bf16;
    case StoredType::u8:
    case StoredType::boolean:
      return DType::u8;
    default:
      return DType::i64;
  }
}

void reverse_elements(std::span<std::byte> bytes, std::uint64_t element_bytes) {
  const auto step = static_cast<std::ptrdiff_t>(element_bytes);
  for (auto at = bytes.begin(); bytes.end() - at >= step; at += step) std::reverse(at, at + step);
}

Tensor read_stored(const StoredEntry& entry, const ReadBytes& read, const std::string& context) {
  const DType dtype = held_dtype(entry.type);
  Tensor tensor = empty(entry.shape, {dtype, {}});
  const std::size_t bytes = static_cast<std::size_t>(tensor.numel()) * size_of(entry.type);
  if (stored_type(dtype) == entry.type) {
    read({tensor.raw(), bytes});
  } else {
    std::vector<std::byte> stored(bytes);
    read(stored);
    convert(entry, stored, tensor, context);
  }
  return tensor;
}

}  // namespace fovea
