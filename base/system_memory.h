// What of this machine's memory a run may still take.
#pragma once

#include <cstdint>

namespace fovea {

/// Bytes that can be had without swapping: the system's estimate, or less where the process's
/// control group allows less. 0: not known here.
[[nodiscard]] std::int64_t available_memory();

/// Bytes of this process that are in memory. 0: not known here.
[[nodiscard]] std::int64_t resident_memory();

}  // namespace fovea
