// The variables that OpenMP's libraries read.
#include "apps/waiting.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace fovea {
namespace {

/// So many looks cost nothing on an idle machine (docs/benchmarks.md); libgomp's own are 300,000.
[[maybe_unused]] constexpr const char* kLooks = "1000";

/// What stays set in the second start, too.
bool is_said() {
  constexpr std::array kVariables{"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
  for (const char* name : kVariables) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace

void wait_briefly(char** argv) {
  if (is_said()) return;
#if !defined(FOVEA_HAS_OPENMP)
  static_cast<void>(argv);
#elif defined(__clang__)
  static_cast<void>(argv);  // LLVM's library reads its variables when its first loop begins
  ::setenv("KMP_BLOCKTIME", "0", 0);
#else
  // The same process from its beginning, under its own name. It finds the variable set and goes on.
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || ::setenv("GOMP_SPINCOUNT", kLooks, 0) != 0) return;
  ::execv(self.c_str(), argv);
  // Still here: the file is gone or may not be read. The threads wait as they do by default.
#endif
}

}  // namespace fovea
