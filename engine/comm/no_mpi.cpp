// Stands in where MPI was not found at build time.
#include "engine/comm/world.h"

namespace fovea::detail {

std::unique_ptr<Communicator> start_mpi() { return nullptr; }
bool has_mpi() { return false; }

}  // namespace fovea::detail
