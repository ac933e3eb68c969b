// The kernels that have run on the fake device.
#pragma once

#include <map>
#include <string>

#include "tests/cuda/emulator/counters.h"

namespace fovea::fake {

/// By name and template arguments, with what they counted where Machine::counts asked for it. A
/// program must export its functions (ENABLE_EXPORTS) for their names to be known.
[[nodiscard]] std::map<std::string, emulate::Counters> kernels_run();

}  // namespace fovea::fake
