// /proc/self/cgroup names the group of the process: "0::/path" in v2, in v1 one line per hierarchy,
// as "4:memory:/path". The files of a group are in the folder of that path under /sys/fs/cgroup, in
// v1 under the folder of the controller.
#include "engine/base/control_group.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/text.h"

namespace fovea {
namespace fs = std::filesystem;
namespace {

using Groups = std::vector<fs::path>;  // the folder of a group, then of those around it

/// The number in a file; empty when the file is missing or has a word instead ("max").
std::optional<std::int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

/// The number after a key in a file of lines "key 123"; 0 without the key.
std::int64_t number_after(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t value = 0;
    if (word == key && file >> value) return value;
  }
  return 0;
}

/// The path of the group that a controller has put the process in; for v2, `controller` is empty.
/// The outermost group if there is no such line.
fs::path group_path(const fs::path& root, const std::string& controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string all = line.substr(first + 1, second - first - 1);
    const std::vector<std::string> names = split_text(all, ',');
    const bool is_own = all == controller || std::ranges::find(names, controller) != names.end();
    if (is_own) return fs::path(line.substr(second + 1)).relative_path();
  }
  return {};
}

/// A container may see its own group at the top, while the path still has the groups around it:
/// then its first folders do not exist.
Groups groups_at(const fs::path& top, fs::path path) {
  while (!path.empty() && !fs::is_directory(top / path)) {
    path = path.lexically_relative(*path.begin());
    if (path == ".") path.clear();
  }
  Groups groups;
  for (; !path.empty(); path = path.parent_path()) groups.push_back(top / path);
  groups.push_back(top);
  return groups;
}

Groups unified_groups(const fs::path& root) {
  return groups_at(root / "sys/fs/cgroup", group_path(root, ""));
}

/// The groups of a v1 controller, whose folder may have the names of several: "cpu,cpuacct".
Groups groups_of(const fs::path& root, const std::string& controller, const char* other_folder) {
  const fs::path all = root / "sys/fs/cgroup";
  const fs::path top = fs::is_directory(all / controller) ? all / controller : all / other_folder;
  return groups_at(top, group_path(root, controller));
}

/// The names that a hierarchy gives to the files and numbers of a group's memory.
struct MemoryFiles {
  const char *limit, *used, *active, *inactive;
};
constexpr MemoryFiles kUnified{"memory.max", "memory.current", "active_file", "inactive_file"};
constexpr MemoryFiles kFirstVersion{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                    "total_active_file", "total_inactive_file"};

/// The least that one of the groups leaves; v1 writes no limit as a number near 2^63.
std::optional<std::int64_t> least_left(const Groups& groups, const MemoryFiles& files) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;
  std::optional<std::int64_t> least;
  for (const fs::path& group : groups) {
    const auto limit = number_in(group / files.limit);
    if (!limit || *limit >= kNoLimit) continue;
    const fs::path details = group / "memory.stat";
    const std::int64_t cache =
        number_after(details, files.active) + number_after(details, files.inactive);
    const std::int64_t used = number_in(group / files.used).value_or(0);
    const std::int64_t left = std::clamp<std::int64_t>(*limit - used + cache, 0, *limit);
    least = std::min(least.value_or(left), left);
  }
  return least;
}

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// cpu.max of v2: "100000 50000", or "max 50000", quota and period.
double unified_quota(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : kNoQuota;
}

/// v1 has a file each, with a quota of -1 for none.
double first_version_quota(const fs::path& group) {
  const auto quota = number_in(group / "cpu.cfs_quota_us");
  const auto period = number_in(group / "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return kNoQuota;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::optional<std::int64_t> memory_left_in_groups(const fs::path& root) {
  const auto unified = least_left(unified_groups(root), kUnified);
  const auto first = least_left(groups_of(root, "memory", "memory"), kFirstVersion);
  if (unified && first) return std::min(*unified, *first);
  return unified ? unified : first;
}

std::optional<int> processors_of_groups(const fs::path& root) {
  double quota = kNoQuota;
  for (const fs::path& group : unified_groups(root)) quota = std::min(quota, unified_quota(group));
  for (const fs::path& group : groups_of(root, "cpu", "cpu,cpuacct")) {
    quota = std::min(quota, first_version_quota(group));
  }
  constexpr double kMany = 1 << 20;
  return quota < kMany ? std::optional(std::max(1, static_cast<int>(std::ceil(quota))))
                       : std::nullopt;
}

}  // namespace fovea
