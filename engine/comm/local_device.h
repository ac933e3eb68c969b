// The GPU of each process of a machine.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/device.h"

namespace fovea {

/// A process among those of its machine.
struct LocalPlace {
  int rank = 0, size = 1;
  int gpus = 0;              ///< that this process sees
  bool sees_its_own = true;  ///< no other process of the machine sees the same ones
};

/// The device of a process, where `asked` is the one of all: "cuda" is the GPU of its local rank,
/// or the only one that the launcher shows it. Throws if a GPU would have several processes.
[[nodiscard]] Device local_device(Device asked, const LocalPlace& place);

/// The same for this process. All processes must call it.
[[nodiscard]] Device local_device(Device asked, Communicator& processes);

}  // namespace fovea
