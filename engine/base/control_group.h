// What Linux's control groups leave to this process: containers, jobs and services have limits that
// the machine's own numbers do not show. Both hierarchies are read, v1 and v2, and in each the
// group of the process and all groups around it. `root` is the folder that has proc/ and sys/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace fovea {

/// Bytes that the groups still allow; empty without a limit. The page cache does not count as used,
/// because it is reclaimed on demand.
[[nodiscard]] std::optional<std::int64_t> memory_left_in_groups(
    const std::filesystem::path& root = "/");

/// The quota of processor time, in processors, rounded up; empty without one.
[[nodiscard]] std::optional<int> processors_of_groups(const std::filesystem::path& root = "/");

}  // namespace fovea
