// Joining the processes of a launcher, and the accidents in which each believes to be alone.
#include "engine/comm/world.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/base/program_call.h"
#include "engine/comm/launcher.h"

namespace fovea {

std::unique_ptr<Communicator> join_world() {
  const std::optional<Launcher> by = launcher();
  if (!by || by->size == 1) {  // Slurm's script is one process, which may start torchrun
    const int started = processes_of_torchrun();
    check(
        started <= 1, "RANK and WORLD_SIZE say that ", started, " processes were started ",
        "together, as by torchrun, but the processes of a run find each other by MPI: each would ",
        "run alone in the same folder; start one command, as in mpirun -n ", started, " ",
        program_call("train_cifar"), " ...");
  }
  if (!by) return nullptr;
  if (!detail::has_mpi()) {
    check(by->size == 1, by->name, " says that ", by->size,
          " processes were started together, but this program was built without MPI: each would ",
          "run alone in the same folder; install libopenmpi-dev or libmpich-dev and build again");
    return nullptr;
  }
  std::unique_ptr<Communicator> world = detail::start_mpi();
  check(world->size() > 1 || by->size == 1, by->name, " says that ", by->size,
        " processes were started together, but MPI knows one: each would run alone in the same ",
        "folder; start the program with the mpirun of the MPI that it was built with");
  return detail::with_nccl(std::move(world));
}

}  // namespace fovea
