// The directory of an uncompressed zip file as torch.save writes it, including zip64. Reads
// nothing of the members but their names and locations.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/files.h"

namespace fovea {

/// A byte range of a file.
struct ByteRange {
  std::uint64_t offset = 0, size = 0;
};

inline constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{64} << 20;

/// The byte range of each member, by name. Throws Error, starting with `where`, on members that
/// are compressed, encrypted, duplicated, outside of the file or overlapping; on a directory that
/// is damaged or larger than kMaxDirectoryBytes; and on multi-disk archives.
[[nodiscard]] std::map<std::string, ByteRange> read_zip_directory(const ByteSource& source,
                                                                  const std::string& where);

}  // namespace fovea
