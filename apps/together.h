// A program that a launcher has started in several processes.
#pragma once

#include <functional>

#include "comm/communicator.h"

namespace fovea {

/// Makes standard output that of the first process: the others' goes nowhere. Divides the cores
/// among the processes of a machine, unless the launcher has bound them.
void share_machine(const Communicator& processes);

/// Throws unless all processes are the same program with the same command line.
void require_same_program(Communicator& processes, int argc, char** argv);

/// Calls body() in every process. An error in one ends all: it is printed as one line that names
/// the process, if there are several.
int run_together(Communicator& processes, const std::function<int()>& body);

}  // namespace fovea
