// Builds without zlib: compressed members of zip files and arrays of MATLAB cannot be read.
#include "engine/base/error.h"
#include "engine/formats/inflate.h"

namespace fovea {

std::string inflate(std::string_view /*packed*/, std::uint64_t /*size*/, const std::string& where) {
  fail(where, ": is compressed, and this build has no zlib; install zlib1g-dev and build again");
}

std::string inflate_start(std::string_view packed, std::uint64_t count, const std::string& where) {
  return inflate(packed, count, where);
}

}  // namespace fovea
