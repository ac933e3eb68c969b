// Builds without zlib: compressed members of zip files and arrays of MATLAB cannot be read.
#include "engine/base/error.h"
#include "engine/formats/inflate.h"

namespace fovea {

std::string inflate(std::string_view /*packed*/, std::uint64_t /*size*/,
                    const std::string& context) {
  fail(context, ": is compressed, and this build has no zlib; install zlib1g-dev and build again");
}

std::string inflate_start(std::string_view packed, std::uint64_t count,
                          const std::string& context) {
  return inflate(packed, count, context);
}

}  // namespace fovea
