// Affinity of processes, by Linux's masks and its description of the machine under /sys.
#include "engine/comm/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>

#include "engine/base/text.h"
#include "engine/comm/shards.h"

namespace fovea {
namespace fs = std::filesystem;
namespace {

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

Cores own_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  Cores cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

/// The kernel leaves out cores that this process may not have. A machine that refuses keeps its
/// binding, which costs time only.
void set_mask(const Cores& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : cores) CPU_SET(core, &mask);
  static_cast<void>(sched_setaffinity(0, sizeof mask, &mask));
}

Cores all_cores() {
  Cores cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) cores.push_back(core);
  return cores;
}

/// The memory node of each core.
std::map<int, int> nodes_of_cores(const fs::path& devices) {
  std::map<int, int> nodes;
  for (int node = 0;; ++node) {
    const fs::path file = devices / ("node/node" + std::to_string(node)) / "cpulist";
    if (!fs::exists(file)) return nodes;
    const auto cores = parse_cores(first_line(file));  // empty for a node of memory alone
    for (const int core : cores.value_or(Cores{})) nodes[core] = node;
  }
}

/// Open MPI's mpirun binds two processes to one core each, and more to a socket each, unless it is
/// asked for something else; then it sets this variable. Slurm's binding follows --cpus-per-task.
bool was_asked_for() {
  return std::getenv("OMPI_MCA_hwloc_base_binding_policy") != nullptr ||
         std::getenv("SLURM_CPU_BIND") != nullptr;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

std::string to_text(const Cores& cores) {
  std::string text;
  for (std::size_t first = 0, end = 0; first < cores.size(); first = end) {
    for (end = first + 1; end < cores.size() && cores[end] == cores[end - 1] + 1;) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(cores[first]);
    if (end - first > 1) text += "-" + std::to_string(cores[end - 1]);
  }
  return text;
}

std::optional<Cores> parse_cores(const std::string& text) {
  Cores cores;
  for (const std::string& range : split_text(text, ',')) {
    const std::vector<std::string> ends = split_text(range, '-');
    const auto first = parse_integer(ends.front()), last = parse_integer(ends.back());
    if (ends.size() > 2 || !first || !last || *first < 0 || *last >= CPU_SETSIZE) return {};
    for (std::int64_t core = *first; core <= *last; ++core) cores.push_back(static_cast<int>(core));
  }
  return cores.empty() ? std::nullopt : std::optional(cores);
}

Cores by_place(Cores cores, const fs::path& root) {
  const fs::path devices = root / "sys/devices/system";
  const std::map<int, int> nodes = nodes_of_cores(devices);
  const auto place = [&](int core) {
    const fs::path topology = devices / ("cpu/cpu" + std::to_string(core)) / "topology";
    const auto siblings = parse_cores(first_line(topology / "thread_siblings_list"));
    const auto node = nodes.find(core);
    return std::tuple(node == nodes.end() ? 0 : node->second,
                      siblings && !siblings->empty() ? siblings->front() : core, core);
  };
  std::map<int, std::tuple<int, int, int>> places;
  for (const int core : cores) places[core] = place(core);
  std::sort(cores.begin(), cores.end(), [&](int a, int b) { return places[a] < places[b]; });
  return cores;
}

Cores share_of(const Cores& cores, int index, int count) {
  const auto all = static_cast<std::int64_t>(cores.size());
  const std::int64_t first = part_begin(all, index, count), end = part_begin(all, index + 1, count);
  return {cores.begin() + first, cores.begin() + std::max(end, first + 1)};
}

Cores bind_cores(Communicator& processes) {
  if (!was_asked_for()) set_mask(all_cores());
  Cores cores = own_mask();
  const std::string mine = host_name() + " " + to_text(cores);
  int index = 0, count = 0;  // among the processes that may have the same cores
  for (int rank = 0; const std::string& theirs : all_gather(processes, mine)) {
    if (theirs == mine) {
      ++count;
      if (rank < processes.rank()) ++index;
    }
    ++rank;
  }
  Cores own = share_of(by_place(std::move(cores), "/"), index, count);
  std::sort(own.begin(), own.end());
  set_mask(own);
  return own;
}

}  // namespace fovea
