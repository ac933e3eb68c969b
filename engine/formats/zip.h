// The directory of a zip file as torch.save and numpy.savez write it, including zip64, and members
// that are stored or deflated.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/base/files.h"

namespace fovea {

/// A byte range of a file.
struct ByteRange {
  std::uint64_t offset = 0, size = 0;
};

/// The bytes of a member in the file, and what they stand for.
struct ZipMember : ByteRange {
  std::uint64_t data_size = 0;  ///< size after decompression
  bool is_deflated = false;
};

inline constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{64} << 20;

/// The members by name. Nothing of them is read but their headers. Throws Error, starting with
/// `context`, on members that are compressed by another method than deflate, encrypted, duplicated,
/// outside of the file or overlapping; on a directory that is damaged or larger than
/// kMaxDirectoryBytes; and on multi-disk archives.
[[nodiscard]] std::map<std::string, ZipMember> read_zip_directory(const ByteSource& source,
                                                                  const std::string& context);

/// The data of a member. Throws Error, starting with `context`, on damaged data.
[[nodiscard]] std::string read_member(const ByteSource& source, const ZipMember& member,
                                      const std::string& context);
/// At least its first `count` bytes, or all if it is shorter.
[[nodiscard]] std::string read_member_start(const ByteSource& source, const ZipMember& member,
                                            std::uint64_t count, const std::string& context);

}  // namespace fovea
