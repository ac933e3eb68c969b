// Damages a file as bad memory or a bad disk does.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/files.h"

namespace fovea {

/// Flips the last bit of a file; of safetensors, one of a tensor, which only a checksum notices.
inline void flip_last_bit(const std::filesystem::path& file) {
  std::string bytes = read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file_atomically(file, bytes);
}

}  // namespace fovea
