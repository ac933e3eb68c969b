// Stands in where NCCL was not found at build time: GPUs exchange through host memory.
#include "engine/comm/world.h"

namespace fovea::detail {

std::unique_ptr<Communicator> with_nccl(std::unique_ptr<Communicator> processes) {
  return processes;
}

}  // namespace fovea::detail
