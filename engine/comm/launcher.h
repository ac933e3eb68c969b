// What a launcher (mpirun, srun) says about the processes that it has started.
#pragma once

#include <optional>
#include <string>

namespace fovea {

struct Launcher {
  std::string name;  ///< of the variable that tells the number of processes
  int size = 1, rank = 0;
};

/// The launcher of this process; empty for a plain command, also inside an allocation of Slurm,
/// where only srun gives every task a number. Throws if the variables make no sense.
[[nodiscard]] std::optional<Launcher> launcher();

/// The number of processes that torchrun has started, of which this is one; 1 without it. It tells
/// them apart in RANK and WORLD_SIZE, which other launchers may set as well.
[[nodiscard]] int processes_of_torchrun();

}  // namespace fovea
