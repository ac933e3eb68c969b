// The first bytes of formats that compress a single file.
#include "engine/base/compressed.h"

#include <array>

namespace fovea {
namespace {

struct Format {
  std::string_view start, name, unpack;
};
constexpr std::array kFormats{Format{"\x1f\x8b", "gzip", "gunzip"},
                              Format{"BZh", "bzip2", "bunzip2"},
                              Format{"\xfd"
                                     "7zXZ",
                                     "xz", "unxz"},
                              Format{"\x28\xb5\x2f\xfd", "zstd", "unzstd"}};

}  // namespace

std::string compression_of(std::string_view start) {
  for (const Format& format : kFormats) {
    if (!start.starts_with(format.start)) continue;
    return std::string("is compressed with ")
        .append(format.name)
        .append("; unpack it with ")
        .append(format.unpack);
  }
  return "";
}

}  // namespace fovea
