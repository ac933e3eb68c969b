// The version and build configuration of this program.
#pragma once

#include <string>

namespace fovea {

/// "fovea 0.1.0 (GCC 12.2.0, CUDA off, AVX-512)"; the instruction set is the one in use.
[[nodiscard]] std::string version_text();

}  // namespace fovea
