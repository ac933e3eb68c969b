// Groups the members of a tar file into samples by WebDataset's convention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/sources/packed/tar.h"
#include "engine/base/files.h"

namespace fovea {

struct TarSample {
  std::string path;                    ///< path of the picture
  std::uint64_t offset = 0, size = 0;  ///< location of the picture's bytes
  std::int64_t label = 0;
};
struct TarSamples {
  std::vector<TarSample> samples;
  std::int64_t incomplete = 0;  ///< number of keys without a picture or without a label
  std::string cause{};          ///< what the first of them lacks, with its member name
};

/// Members whose paths are equal up to the first dot of the file name, the key, form one sample,
/// even if they are not adjacent. Its picture is the member named by the key and a picture
/// extension, or the only member with a picture extension ("000.input.png"). Its label is read
/// from the .cls, otherwise from a number "label" in the .json, otherwise from the .txt. If a
/// key has several pictures because the names themselves contain dots, the key ends at the last
/// dot. Names that start with a dot and WebDataset's metadata are ignored. Throws Error, starting
/// with `name`, if a .cls member is not a number >= 0.
[[nodiscard]] TarSamples group_tar(const ByteSource& bytes, const std::vector<TarMember>& members,
                                   const std::string& name);

}  // namespace fovea
