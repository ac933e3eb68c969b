// The safetensors file format: u64 header length, JSON header, data. Reading validates everything
// in the file; writing is atomic (a temporary next to the file is synced, then renamed).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/base/files.h"
#include "engine/formats/metadata.h"
#include "engine/formats/stored_type.h"

namespace fovea {

/// Entries and metadata of a file, without tensor data.
struct SafetensorsList {
  std::vector<StoredEntry> entries;
  Metadata metadata;
};

struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;
  Metadata metadata;
};

/// Converts dtypes as held_dtype() specifies. Throws Error with path and reason on malformed
/// input: see FORMAT in safetensors.cpp.
[[nodiscard]] SafetensorsFile read_safetensors(const std::filesystem::path& path);
/// The same from memory (called by the fuzzer). `name` takes the place of the path in errors.
[[nodiscard]] SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& name);
/// Whether the source starts like a safetensors file: with a header length that fits and a JSON
/// object.
[[nodiscard]] bool is_safetensors(const ByteSource& source);
/// Reads the header only.
[[nodiscard]] SafetensorsList list_safetensors(const std::filesystem::path& path);

/// Writes tensors of any strides (made contiguous) on any device. Adds "format": "pt" to the
/// metadata.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors, const Metadata& metadata = {});

}  // namespace fovea
