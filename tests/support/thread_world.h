// Processes played by threads, for tests of what is computed with several of them.
#pragma once

#include <functional>

#include "comm/communicator.h"

namespace fovea::test {

/// Calls body(processes) in `size` threads, each with its own communicator, and rethrows the first
/// exception.
void in_threads(int size, const std::function<void(Communicator& processes)>& body);

}  // namespace fovea::test
