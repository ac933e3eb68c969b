// The table of contents of a tar file: plain files only, in ustar, GNU or pax format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/files.h"

namespace fovea {

struct TarMember {
  std::string path;
  std::uint64_t offset = 0, size = 0;  ///< location of its bytes in the tar file
};

/// The members in file order. Folders, links and devices are skipped. Throws Error, starting with
/// `name`, on a wrong checksum, an invalid number, and truncated members.
[[nodiscard]] std::vector<TarMember> index_tar(const ByteSource& bytes, const std::string& name);

/// All names that a pattern such as "a-{000..012}.tar" or "{a,b}.tar" expands to, in order. Throws
/// Error on an unclosed brace and on more than a million names.
[[nodiscard]] std::vector<std::string> shard_names(const std::string& pattern);

}  // namespace fovea
