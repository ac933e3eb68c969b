// The version text, from compiler macros and definitions set by CMake.
#include "apps/common/version.h"

#include "engine/cpu_isa.h"

namespace fovea {

std::string version_text() {
#ifdef __clang__
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "GCC " __VERSION__;
#endif
  return "fovea " FOVEA_VERSION " (" + compiler + ", CUDA " FOVEA_CUDA_STATE ", " +
         std::string(to_string(cpu_isa())) + ")";
}

}  // namespace fovea
