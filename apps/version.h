// What this build is.
#pragma once

#include <string>

namespace fovea {

/// "fovea 0.2.0 (GCC 12.2.0, CUDA off, AVX-512)", the last as this machine runs it.
[[nodiscard]] std::string version_text();

}  // namespace fovea
