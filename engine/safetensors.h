// The safetensors file format: u64 header length, JSON header, data. Reading trusts nothing;
// writing is atomic (a temporary beside the file, synced, then renamed).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/stored_type.h"

namespace fovea {

/// What a file holds, without its data.
struct SafetensorsList {
  std::vector<StoredEntry> entries;
  std::map<std::string, std::string> metadata;
};

struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Types are held as held_dtype() says. Throws Error with path and reason on anything malformed:
/// see FORMAT in safetensors.cpp.
[[nodiscard]] SafetensorsFile read_safetensors(const std::filesystem::path& path);
/// The same from memory (what the fuzzer calls). `name` stands for the path in errors.
[[nodiscard]] SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& name);
/// Header only.
[[nodiscard]] SafetensorsList list_safetensors(const std::filesystem::path& path);

/// Writes tensors of any strides (made contiguous) on any device. Adds metadata "format": "pt".
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace fovea
