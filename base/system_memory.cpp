// Linux says it in files under /proc and, for control groups, under /sys/fs/cgroup.
#include "base/system_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace fovea {
namespace {

/// The number after `key` in a file of lines "Key:   123 kB", in bytes; 0 without one.
std::int64_t kib_after(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::int64_t value = 0;
    if (word == key && file >> value) return value * 1024;
  }
  return 0;
}

/// The file's number, or `otherwise` where it is absent or says "max".
std::int64_t number_in(const std::string& path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : otherwise;
}

/// What the control group leaves; negative without a limit.
std::int64_t left_in_group() {
  const std::string folder = "/sys/fs/cgroup/";
  const std::int64_t limit = number_in(folder + "memory.max", -1);
  return limit < 0 ? -1
                   : std::max<std::int64_t>(0, limit - number_in(folder + "memory.current", 0));
}

}  // namespace

std::int64_t available_memory() {
  const std::int64_t system = kib_after("/proc/meminfo", "MemAvailable:");
  const std::int64_t group = left_in_group();
  return group < 0 ? system : std::min(system, group);
}

std::int64_t resident_memory() { return kib_after("/proc/self/status", "VmRSS:"); }

}  // namespace fovea
