// Training in several processes beside one, and beside PyTorch's DistributedDataParallel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/workload.h"

namespace fovea::bench {

struct ProcessComparison {
  std::int64_t processes = 2, threads = 1, reps = 7;  ///< threads of all processes together
  bool peer = false;
};

/// Prints a row for each training workload and side: images per second, and the speed relative to
/// one process with all threads and to the peer. The sides alternate repetition by repetition.
/// `self` is this program.
void compare_processes(const std::vector<WorkloadSpec>& specs, const ProcessComparison& options,
                       const std::string& self);

/// Takes a turn of the workload for each line of standard input and answers with its seconds. With
/// several processes, the first one reads and answers; each has its part of the batch.
int take_turns(const WorkloadSpec& spec, std::int64_t shards, Communicator& processes);

}  // namespace fovea::bench
