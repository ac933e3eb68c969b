// What lies where in a tar file: plain files only, in ustar, GNU or pax form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"

namespace fovea {

struct TarMember {
  std::string path;
  std::uint64_t offset = 0, size = 0;  ///< of its bytes in the tar file
};

/// In the order of the file. Folders, links and devices are passed over. Throws Error, beginning
/// with `name`, on a wrong checksum, a number that is none, and members cut off by the end.
[[nodiscard]] std::vector<TarMember> index_tar(const ByteSource& bytes, const std::string& name);

/// "a-{000..012}.tar", "{a,b}.tar": all that a pattern stands for, in order. Throws Error on a
/// brace that is not closed and on more than a million names.
[[nodiscard]] std::vector<std::string> expand_braces(const std::string& pattern);

}  // namespace fovea
