// The JSON header of a safetensors file: parsing, checking and writing it. No tensor data here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/files.h"
#include "engine/formats/stored_type.h"

namespace fovea {

struct HeaderEntry : StoredEntry {
  std::uint64_t begin = 0, end = 0;  ///< byte range, counted from the end of the header
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;  ///< ordered by their data
  std::map<std::string, std::string> metadata;
};

/// Size of the length field at the start of the file.
inline constexpr std::uint64_t kHeaderLengthBytes = 8;
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// Validates the header: the entries tile the `data_bytes` after the header exactly. Throws Error
/// starting with `path`.
[[nodiscard]] SafetensorsHeader parse_header(std::string_view json, std::uint64_t data_bytes,
                                             const std::string& path);

struct OpenedHeader {
  SafetensorsHeader header;
  std::uint64_t data_offset;  ///< where the data begin in the file
};
/// Reads and validates the header of a file. Throws Error starting with `path`.
[[nodiscard]] OpenedHeader open_header(const ByteSource& source, const std::string& path);

/// Length and JSON, padded with spaces so that the data starts at a multiple of 8.
[[nodiscard]] std::string format_header(const SafetensorsHeader& header, const std::string& path);

}  // namespace fovea
