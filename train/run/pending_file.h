// A safetensors file of a run, to be written immediately or by another thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/formats/safetensors.h"

namespace fovea {

struct PendingFile {
  std::filesystem::path path;
  std::map<std::string, Tensor> tensors;
  Metadata metadata;  ///< includes "fovea"; a checksum is added, see checksum_of()
  std::vector<std::filesystem::path> copies{};  ///< files with the same content, written first

  /// Copies the tensors to main memory, so that training can continue.
  void detach_from_run();
  void write() const;  ///< each file atomically
};

/// CRC-32C, in decimal digits, of all metadata keys and values and all tensor names and bytes. A
/// value named "crc32c" is excluded.
[[nodiscard]] std::string checksum_of(const std::map<std::string, Tensor>& tensors,
                                      const Metadata& metadata);

}  // namespace fovea
