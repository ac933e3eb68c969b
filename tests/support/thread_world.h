// Processes played by threads, for tests of what is computed with several of them.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/comm/communicator.h"

namespace fovea::test {

/// Calls body(processes) in `size` threads, each with its own communicator, and rethrows the first
/// exception.
void in_threads(int size, const std::function<void(Communicator& processes)>& body);

/// Bytes that this process, a thread of in_threads(), has sent so far, by its duplicates too.
[[nodiscard]] std::int64_t bytes_sent(const Communicator& process);

}  // namespace fovea::test
