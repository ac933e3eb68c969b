// A safetensors file of a run that has yet to be written: at once, or by another thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "formats/safetensors.h"

namespace fovea {

struct PendingFile {
  std::filesystem::path path;
  std::map<std::string, Tensor> tensors;
  Metadata metadata;  ///< with "fovea" in it, a checksum is added: see checksum_of()

  /// Replaces the tensors by copies of their own in main memory, so that training may go on.
  void detach_from_run();
  void write() const;  ///< atomically
};

/// CRC-32C, in decimal digits, of all keys, values, names and bytes; a value named "crc32c" does
/// not count.
[[nodiscard]] std::string checksum_of(const std::map<std::string, Tensor>& tensors,
                                      const Metadata& metadata);

}  // namespace fovea
