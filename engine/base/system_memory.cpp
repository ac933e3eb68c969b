// Linux reports the memory of the machine and of a process in files under /proc.
#include "engine/base/system_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "engine/base/control_group.h"

namespace fovea {
namespace {

/// The bytes after `key` in a file of lines "Key:   123 kB"; 0 if the key is missing.
std::int64_t bytes_after(const std::filesystem::path& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::int64_t kilobytes = 0;
    if (word == key && file >> kilobytes) return 1024 * kilobytes;
  }
  return 0;
}

}  // namespace

std::int64_t available_memory(const std::filesystem::path& root) {
  const std::int64_t system = bytes_after(root / "proc/meminfo", "MemAvailable:");
  return std::min(system, memory_left_in_groups(root).value_or(system));
}

std::int64_t resident_memory() { return bytes_after("/proc/self/status", "VmRSS:"); }

}  // namespace fovea
