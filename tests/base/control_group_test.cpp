// Limits of control groups, read from drawn trees of /proc and /sys.
#include "engine/base/control_group.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "engine/base/files.h"
#include "engine/base/system_memory.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// A machine with 16 GB of memory available, and these files in /sys/fs/cgroup.
class Machine {
 public:
  Machine(const std::string& own_group, const std::map<std::string, std::string>& groups) {
    write("proc/self/cgroup", own_group);
    write("proc/meminfo", "MemTotal: 17000000 kB\nMemAvailable: 16000000 kB\n");
    for (const auto& [name, text] : groups) write("sys/fs/cgroup/" + name, text);
  }
  [[nodiscard]] fs::path root() const { return folder_.path(); }

 private:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    write_file_atomically(folder_ / name, text);
  }

  TemporaryFolder folder_;
};

constexpr std::int64_t kAvailable = std::int64_t{16000000} * 1024;
const std::string kStat = "anon 5\nactive_file 30\ninactive_file 20\n";
const std::string kFirstStat = "active_file 1\ntotal_active_file 30\ntotal_inactive_file 20\n";

std::int64_t memory(const std::string& own_group,
                    const std::map<std::string, std::string>& groups) {
  return available_memory(Machine(own_group, groups).root());
}

std::optional<int> processors(const std::string& own_group,
                              const std::map<std::string, std::string>& groups) {
  return processors_of_groups(Machine(own_group, groups).root());
}

}  // namespace

TEST_CASE("without a limit of a group, the machine's memory counts") {
  CHECK(memory("", {}) == kAvailable);
  CHECK(memory("0::/\n", {{"memory.max", "max\n"}, {"memory.current", "1\n"}}) == kAvailable);
  CHECK(memory("4:memory:/\n", {{"memory/memory.limit_in_bytes", "9223372036854771712\n"},
                                {"memory/memory.usage_in_bytes", "5\n"}}) == kAvailable);
  CHECK(memory("0::/\n", {{"memory.max", "99999999999999\n"}}) == kAvailable);
}

TEST_CASE("a container sees its own group at the top, in v2 and in v1") {
  CHECK(memory("0::/\n",
               {{"memory.max", "1000\n"}, {"memory.current", "400\n"}, {"memory.stat", kStat}}) ==
        650);
  CHECK(memory("4:memory:/docker/a1\n0::/\n", {{"memory/memory.limit_in_bytes", "1000\n"},
                                               {"memory/memory.usage_in_bytes", "400\n"},
                                               {"memory/memory.stat", kFirstStat}}) == 650);
}

TEST_CASE("the group of the process and all groups around it limit its memory") {
  const std::map<std::string, std::string> v2 = {{"slurm/job_7/memory.max", "1000\n"},
                                                 {"slurm/job_7/memory.current", "400\n"},
                                                 {"slurm/job_7/step_0/memory.max", "max\n"},
                                                 {"slurm/memory.max", "5000\n"},
                                                 {"slurm/memory.current", "4500\n"}};
  CHECK(memory("0::/slurm/job_7\n", v2) == 500);
  CHECK(memory("0::/slurm/job_7/step_0\n", v2) == 500);
  CHECK(memory("0::/slurm\n", v2) == 500);
  CHECK(memory("0::/other\n", v2) == kAvailable);
  CHECK(memory("9:cpuset:/x\n4:memory:/slurm/job_7\n",
               {{"memory/slurm/job_7/memory.limit_in_bytes", "1000\n"},
                {"memory/slurm/job_7/memory.usage_in_bytes", "400\n"},
                {"memory/memory.limit_in_bytes", "9223372036854771712\n"}}) == 600);
}

TEST_CASE("a path whose first folders belong to the machine outside is found below them") {
  CHECK(memory("0::/docker/a1/inner\n", {{"inner/memory.max", "1000\n"},
                                         {"inner/memory.current", "900\n"},
                                         {"memory.max", "2000\n"}}) == 100);
  CHECK(memory("0::/../../sibling\n", {{"memory.max", "2000\n"}}) == 2000);
}

TEST_CASE("more used than allowed leaves nothing, and no more than the limit is left") {
  CHECK(memory("0::/\n", {{"memory.max", "1000\n"}, {"memory.current", "3000\n"}}) == 0);
  CHECK(memory("0::/\n", {{"memory.max", "1000\n"}, {"memory.stat", kStat}}) == 1000);
}

TEST_CASE("quotas of processor time, in v2, in v1 and of groups around the process") {
  CHECK_FALSE(processors("0::/\n", {}).has_value());
  CHECK_FALSE(processors("0::/\n", {{"cpu.max", "max 100000\n"}}).has_value());
  CHECK(processors("0::/\n", {{"cpu.max", "100000 100000\n"}}) == 1);
  CHECK(processors("0::/\n", {{"cpu.max", "150000 100000\n"}}) == 2);
  CHECK(processors("0::/\n", {{"cpu.max", "20000 100000\n"}}) == 1);
  CHECK(processors("0::/a/b\n",
                   {{"a/b/cpu.max", "400000 100000\n"}, {"a/cpu.max", "100000 100000\n"}}) == 1);
  CHECK(processors("3:cpu,cpuacct:/a\n", {{"cpu,cpuacct/a/cpu.cfs_quota_us", "100000\n"},
                                          {"cpu,cpuacct/a/cpu.cfs_period_us", "50000\n"}}) == 2);
  CHECK(processors("3:cpu:/\n", {{"cpu/cpu.cfs_quota_us", "50000\n"},
                                 {"cpu/cpu.cfs_period_us", "50000\n"}}) == 1);
  CHECK_FALSE(processors("3:cpu:/\n",
                         {{"cpu/cpu.cfs_quota_us", "-1\n"}, {"cpu/cpu.cfs_period_us", "50000\n"}})
                  .has_value());
}

}  // namespace fovea
