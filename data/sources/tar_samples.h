// Which members of a tar file are a picture and its label, in the convention of WebDataset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/sources/tar.h"

namespace fovea {

struct TarSample {
  std::string path;                    ///< of the picture
  std::uint64_t offset = 0, size = 0;  ///< of the picture's bytes
  std::int64_t label = 0;
};
struct TarSamples {
  std::vector<TarSample> samples;
  std::int64_t incomplete = 0;  ///< keys without a picture or without a label
  std::string cause{};          ///< what the first of them lacks, with its member's name
};

/// Members whose paths are equal up to the first dot of their names, the key, are one sample, also
/// where others stand between them. Its picture is the member that is called as the key with a
/// picture's ending, or the only one that ends so ("000.input.png"); its label stands in the .cls,
/// else as a number "label" in the .json, else in the .txt. Where names have dots themselves, so
/// that a key has several pictures, the last dot counts. Passed over are names that begin with a
/// dot and WebDataset's own notes. Throws Error, beginning with `name`, where a .cls member is no
/// number of 0 or more.
[[nodiscard]] TarSamples group_tar(const ByteSource& bytes, const std::vector<TarMember>& members,
                                   const std::string& name);

}  // namespace fovea
