// What a launcher (mpirun, srun) says about the processes that it has started.
#pragma once

#include <optional>
#include <string>

namespace fovea {

struct Launcher {
  std::string name;  ///< of the variable that tells the number of processes
  int size = 1;
};

/// The launcher of this process; empty for a plain command, also inside an allocation of Slurm,
/// where only srun gives every task a number. Throws if the variables make no sense.
[[nodiscard]] std::optional<Launcher> launcher();

}  // namespace fovea
