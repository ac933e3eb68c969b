// Environment variables of the OpenMP libraries.
#include "apps/common/waiting.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace fovea {
namespace {

/// This many spins cost nothing on an idle machine (docs/benchmarks.md); libgomp's default is
/// 300,000.
[[maybe_unused]] constexpr const char* kSpins = "1000";

/// True if the environment already sets how threads wait, as it does after the restart.
bool is_configured() {
  constexpr std::array kVariables{"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
  for (const char* name : kVariables) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace

void limit_openmp_spinning(char** argv) {
  if (is_configured()) return;
#if !defined(FOVEA_HAS_OPENMP)
  static_cast<void>(argv);
#elif defined(__clang__)
  static_cast<void>(argv);  // LLVM's library reads its variables at its first loop
  ::setenv("KMP_BLOCKTIME", "0", 0);
#else
  // Restarts the process under its own name. It will find the variable set and continue.
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || ::setenv("GOMP_SPINCOUNT", kSpins, 0) != 0) return;
  ::execv(self.c_str(), argv);
  // The restart failed: the file is missing or not readable. Threads wait in the default way.
#endif
}

}  // namespace fovea
