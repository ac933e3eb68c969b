// Builds without zlib: compressed members of zip files cannot be read.
#include "base/error.h"
#include "formats/inflate.h"

namespace fovea {

std::string inflate(std::string_view /*packed*/, std::uint64_t /*size*/, const std::string& where) {
  fail(where, ": is compressed, and this build has no zlib; install zlib1g-dev and build again");
}

}  // namespace fovea
