// Launchers tell a task its number and the number of tasks in the environment.
#include "engine/comm/launcher.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

struct Variables {
  const char *rank, *size;
};
// Open MPI, MPICH and Intel MPI, and PMIx (whose size only MPI itself knows). Slurm comes last, as
// mpirun inside an allocation inherits its variables.
constexpr Variables kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                    {"PMI_RANK", "PMI_SIZE"},
                                    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                                    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [parsed, error] = std::from_chars(text, end, number);
  check(error == std::errc() && parsed == end && number >= 0, variable, "=", text,
        ": expected a whole number; which launcher has set it?");
  return number;
}

}  // namespace

int processes_of_torchrun() {
  const char* const size = std::getenv("WORLD_SIZE");
  if (std::getenv("RANK") == nullptr || size == nullptr) return 1;
  return static_cast<int>(parse_integer(size).value_or(1));
}

std::optional<Launcher> launcher() {
  for (const auto& [rank, size] : kLaunchers) {
    if (std::getenv(rank) == nullptr) continue;
    // A shell that srun or salloc has started is a task too, the only one of its step.
    if (std::getenv(size) == nullptr) return Launcher{rank, 1};
    return Launcher{size, number_in(size), number_in(rank)};
  }
  return {};
}

}  // namespace fovea
