// The version and build configuration of this program.
#pragma once

#include <string>

namespace fovea {

/// "fovea 0.3.0 (GCC 12.2.0, CUDA off, v4)"; v4 is the instruction set in use.
[[nodiscard]] std::string version_text();

}  // namespace fovea
