// How much of the machine's memory is available to a run.
#pragma once

#include <cstdint>

namespace fovea {

/// Bytes available without swapping: the system's estimate, or less if the process's control group
/// allows less. 0: unknown.
[[nodiscard]] std::int64_t available_memory();

/// Resident bytes of this process. 0: unknown.
[[nodiscard]] std::int64_t resident_memory();

}  // namespace fovea
