// The element types of files of weights, and how each is held as a tensor: the one table of
// conversions, for safetensors and for what torch.save writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/names.h"
#include "engine/tensor.h"

namespace fovea {

/// Those that a fovea tensor can hold, perhaps after conversion.
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
  u64
};

template <>
inline constexpr auto kNames<StoredType> =  // as in safetensors
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
                                      {StoredType::u64, "U64"}});
[[nodiscard]] std::string_view to_string(StoredType type);
[[nodiscard]] std::uint64_t size_of(StoredType type);
[[nodiscard]] StoredType stored_type(DType dtype);

/// F64 F32 BF16 I64 U8 are held as they are; F16 becomes f32, I32 I16 I8 U16 U32 U64 become i64,
/// BOOL u8.
[[nodiscard]] DType held_dtype(StoredType type);

/// One tensor of a file, without its data.
struct StoredEntry {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
};

/// What fills memory with bytes of a file, from the first of them on.
using ReadBytes = std::function<void(std::span<std::byte> into)>;

/// The entry's tensor, contiguous, from as many stored little-endian elements. Types that are held
/// as they are go straight into it. Throws Error, beginning with `where`, on a U64 beyond i64.
[[nodiscard]] Tensor read_stored(const StoredEntry& entry, const ReadBytes& read,
                                 const std::string& where);

}  // namespace fovea
