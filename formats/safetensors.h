// The safetensors file format: u64 header length, JSON header, data. Reading trusts nothing;
// writing is atomic (a temporary beside the file, synced, then renamed).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "formats/stored_type.h"

namespace fovea {

/// Texts by key, of a file's header.
using Metadata = std::map<std::string, std::string>;
/// What is under a key, or `otherwise` where nothing is.
[[nodiscard]] std::string value_or(const Metadata& metadata, const std::string& key,
                                   const std::string& otherwise);

/// What a file holds, without its data.
struct SafetensorsList {
  std::vector<StoredEntry> entries;
  Metadata metadata;
};

struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;
  Metadata metadata;
};

/// Types are held as held_dtype() says. Throws Error with path and reason on anything malformed:
/// see FORMAT in safetensors.cpp.
[[nodiscard]] SafetensorsFile read_safetensors(const std::filesystem::path& path);
/// The same from memory (what the fuzzer calls). `name` stands for the path in errors.
[[nodiscard]] SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& name);
/// Whether it begins like such a file, with the length of a JSON object that it has room for.
[[nodiscard]] bool is_safetensors(const ByteSource& source);
/// Header only.
[[nodiscard]] SafetensorsList list_safetensors(const std::filesystem::path& path);

/// Writes tensors of any strides (made contiguous) on any device. Adds metadata "format": "pt".
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors, const Metadata& metadata = {});

}  // namespace fovea
