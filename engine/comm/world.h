// The processes that a launcher has started together.
#pragma once

#include <memory>

#include "engine/comm/communicator.h"

namespace fovea {

/// Joins the processes of the launcher: mpirun or srun. A plain command is single_process() and MPI
/// is not touched. Throws if the launcher has started several processes that cannot reach each
/// other: the program was built without MPI, or with another MPI than the launcher's. Call it once.
[[nodiscard]] std::unique_ptr<Communicator> join_world();

namespace detail {
/// Initialises MPI; null if the program was built without it. mpi.cpp, no_mpi.cpp.
[[nodiscard]] std::unique_ptr<Communicator> start_mpi();
[[nodiscard]] bool has_mpi();
/// The same processes, which exchange memory of GPUs through NCCL; `processes` itself if the
/// program was built without it. nccl.cpp, no_nccl.cpp.
[[nodiscard]] std::unique_ptr<Communicator> with_nccl(std::unique_ptr<Communicator> processes);
}  // namespace detail

}  // namespace fovea
