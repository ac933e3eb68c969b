// The JSON header of a safetensors file: parsing, checking and writing it. No tensor data here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/shape.h"

namespace fovea {

/// The element types of the format that a fovea tensor can hold, perhaps after conversion.
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

[[nodiscard]] std::string_view to_string(StoredType type);  ///< "BOOL", "U8", ...
[[nodiscard]] std::uint64_t size_of(StoredType type);

struct HeaderEntry {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes, counted from the end of the header
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
};

/// The file starts with the header's length in this many bytes.
inline constexpr std::uint64_t kHeaderLengthBytes = 8;
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// Checks everything: afterwards the entries tile the `data_bytes` after the header exactly. Throws
/// Error starting with `path`.
[[nodiscard]] SafetensorsHeader parse_header(std::string_view json, std::uint64_t data_bytes,
                                             const std::string& path);

/// A string of a file as it may stand in a message of one line: escaped and not too long.
[[nodiscard]] std::string in_quotes(const std::string& text);

/// Length and JSON, padded with spaces so that the data after it starts at a multiple of 8.
[[nodiscard]] std::string format_header(const SafetensorsHeader& header, const std::string& path);

}  // namespace fovea
