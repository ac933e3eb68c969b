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

/// One picture and its label: members that follow each other and are equal up to the first dot of
/// their names, as WebDataset writes them.
struct TarSample {
  std::string path;                    ///< of the picture
  std::uint64_t offset = 0, size = 0;  ///< of the picture's bytes
  std::int64_t label = 0;
};
struct TarSamples {
  std::vector<TarSample> samples;
  std::int64_t incomplete = 0;  ///< keys without a picture or without a .cls
};
/// Throws Error, beginning with `name`, where a .cls member is no number of 0 or more.
[[nodiscard]] TarSamples group_tar(const ByteSource& bytes, const std::vector<TarMember>& members,
                                   const std::string& name);

/// "a-{000..012}.tar", "{a,b}.tar": all that a pattern stands for, in order. Throws Error on a
/// brace that is not closed and on more than a million names.
[[nodiscard]] std::vector<std::string> expand_braces(const std::string& pattern);

}  // namespace fovea
