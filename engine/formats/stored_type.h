// The element types of weight files and the dtypes that they are converted to: one table for
// safetensors and PyTorch files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/names.h"
#include "engine/tensor.h"

namespace fovea {

/// The types that fovea can load, some after conversion.
enum class StoredType : std::uint8_t {
  boolean,
  u8,
  i8,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  f64,
  i64,
  u64,
  f8_e4m3,  ///< 4 bits of exponent, 3 of fraction, no infinities ("fn")
  f8_e5m2   ///< 5 bits of exponent, 2 of fraction
};

template <>
inline constexpr auto kNames<StoredType> =  // names in safetensors files
    std::to_array<Named<StoredType>>({{StoredType::boolean, "BOOL"},
                                      {StoredType::u8, "U8"},
                                      {StoredType::i8, "I8"},
                                      {StoredType::i16, "I16"},
                                      {StoredType::u16, "U16"},
                                      {StoredType::f16, "F16"},
                                      {StoredType::bf16, "BF16"},
                                      {StoredType::i32, "I32"},
                                      {StoredType::u32, "U32"},
                                      {StoredType::f32, "F32"},
                                      {StoredType::f64, "F64"},
                                      {StoredType::i64, "I64"},
                                      {StoredType::u64, "U64"},
                                      {StoredType::f8_e4m3, "F8_E4M3"},
                                      {StoredType::f8_e5m2, "F8_E5M2"}});
[[nodiscard]] std::string_view to_string(StoredType type);
[[nodiscard]] std::uint64_t size_of(StoredType type);
[[nodiscard]] StoredType stored_type(DType dtype);

/// The dtype after loading. F64 F32 BF16 I64 U8 are kept; F16 and the F8 types become f32, I32 I16
/// I8 U16 U32 U64 become i64, BOOL becomes u8. All values stay exact.
[[nodiscard]] DType held_dtype(StoredType type);

/// One tensor of a file, without its data.
struct StoredEntry {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
};

/// Turns the bytes of each element around: between big-endian and little-endian.
void reverse_elements(std::span<std::byte> bytes, std::uint64_t element_bytes);

/// Fills a buffer with the first bytes of a stored tensor.
using ReadBytes = std::function<void(std::span<std::byte> into)>;

/// The entry's tensor, contiguous, from little-endian stored elements. Types without conversion
/// are read directly into it. Throws Error, starting with `context`, on a U64 beyond i64.
[[nodiscard]] Tensor read_stored(const StoredEntry& entry, const ReadBytes& read,
                                 const std::string& context);

}  // namespace fovea
