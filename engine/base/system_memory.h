// How much of the machine's memory is available to a run.
#pragma once

#include <cstdint>
#include <filesystem>

namespace fovea {

/// Bytes available without swapping: the system's estimate, or less if the process's control groups
/// allow less (engine/base/control_group.h). 0: unknown. `root` is the folder that has proc/ and
/// sys/.
[[nodiscard]] std::int64_t available_memory(const std::filesystem::path& root = "/");

/// Resident bytes of this process. 0: unknown.
[[nodiscard]] std::int64_t resident_memory();

}  // namespace fovea
