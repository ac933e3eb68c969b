// The directory of a zip file whose members are stored as they are, as torch.save writes it; zip64
// too. Nothing of the members is read but their names and places.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/files.h"

namespace fovea {

/// A part of a file.
struct ByteRange {
  std::uint64_t offset = 0, size = 0;
};

inline constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{64} << 20;

/// Where each member's bytes lie, by name. Throws Error, beginning with `where`, on members that
/// are compressed or encrypted, there twice, outside of the file or over each other; on a directory
/// that is damaged, or larger than kMaxDirectoryBytes; and on archives of several disks.
[[nodiscard]] std::map<std::string, ByteRange> read_zip_directory(const ByteSource& source,
                                                                  const std::string& where);

}  // namespace fovea
