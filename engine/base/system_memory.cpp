// Linux reports memory in files under /proc and, for control groups, under /sys/fs/cgroup.
#include "engine/base/system_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace fovea {
namespace {

/// The number after `key` in a file of lines "Key:   123 kB" or "key 123"; 0 if the key is
/// missing.
std::int64_t number_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::int64_t value = 0;
    if (word == key && file >> value) return value;
  }
  return 0;
}

/// The number in a file, or `otherwise` when the file is missing or contains "max".
std::int64_t number_in(const std::string& path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : otherwise;
}

/// Bytes left in the control group; negative without a limit. The page cache does not count as
/// used, because it is reclaimed on demand.
std::int64_t left_in_group() {
  const std::string folder = "/sys/fs/cgroup/", details = folder + "memory.stat";
  const std::int64_t limit = number_in(folder + "memory.max", -1);
  if (limit < 0) return -1;
  const std::int64_t files =
      number_after(details, "active_file") + number_after(details, "inactive_file");
  return std::clamp<std::int64_t>(limit - number_in(folder + "memory.current", 0) + files, 0,
                                  limit);
}

}  // namespace

std::int64_t available_memory() {
  const std::int64_t system = 1024 * number_after("/proc/meminfo", "MemAvailable:");
  const std::int64_t group = left_in_group();
  return group < 0 ? system : std::min(system, group);
}

std::int64_t resident_memory() { return 1024 * number_after("/proc/self/status", "VmRSS:"); }

}  // namespace fovea
