// The kernels that have run on the fake device.
#pragma once

#include <map>
#include <string>

#include "tests/cuda/emulator/counters.h"

namespace fovea::fake {

/// Kernels by name and template arguments, with their counters if Machine::counts is set. A program
/// must export its functions (ENABLE_EXPORTS) to make their names available.
[[nodiscard]] std::map<std::string, emulate::Counters> kernels_run();

}  // namespace fovea::fake
