// Programs that a launcher may have started in several processes.
#pragma once

#include <functional>
#include <string>

#include "engine/comm/communicator.h"

namespace fovea {

/// The processes of a program, all with the same command line.
struct Launch {
  Communicator& processes;
  std::string cores;  ///< of the processes of the first machine, "0-3 | 4-7"; "": a single process
};

/// Joins the processes of the launcher and calls body() in each of them. Standard output is that of
/// the first. Each is bound to its share of the machine's cores, see bind_cores(), with as many
/// threads unless OMP_NUM_THREADS is set. An error in one ends all: it is printed as one line that
/// names the process.
int run_in_processes(int argc, char** argv, const std::function<int(const Launch&)>& body);

/// Throws Error if a launcher has started several processes of a program whose work they cannot
/// share: each would do all of it, and write the same files.
void require_one_process();

}  // namespace fovea
