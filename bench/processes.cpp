// Every side runs in a process of its own, which takes a step for each line that it reads.
#include "bench/processes.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/child.h"
#include "bench/median.h"
#include "bench/peer_process.h"
#include "engine/base/error.h"

namespace fovea::bench {
namespace {

constexpr int kWarmUp = 2;

/// Our program, which takes turns, under mpirun if there are several processes.
std::vector<std::string> command_of(const WorkloadSpec& spec, std::int64_t processes,
                                    std::int64_t threads, std::int64_t shards,
                                    const std::string& self) {
  std::vector<std::string> command;
  if (processes > 1) command = {"mpirun", "--oversubscribe", "-n", std::to_string(processes)};
  command.insert(command.end(),
                 {self, "--turns", "--workload", spec.id, "--mode", "train", "--precision",
                  spec.precision, "--batch-size", std::to_string(spec.batch), "--threads",
                  std::to_string(std::max<std::int64_t>(1, threads / processes)), "--shards",
                  std::to_string(shards)});
  return command;
}

/// PyTorch's DistributedDataParallel with gloo.
class DistributedPeer {
 public:
  /// Throws Error if the peer has no such model.
  DistributedPeer(const WorkloadSpec& spec, const ProcessComparison& options) : process_("eager") {
    const nlohmann::json answer = process_.ask({{"cmd", "setup"},
                                                {"workload", spec.id},
                                                {"mode", "train"},
                                                {"precision", spec.precision},
                                                {"batch", spec.batch},
                                                {"threads", options.threads},
                                                {"processes", options.processes},
                                                {"device", "cpu"}});
    check(!answer.contains("lacks"), "peer: ", answer.value("lacks", ""));
  }
  double seconds() { return process_.ask({{"cmd", "rep"}})["seconds"]; }

 private:
  PeerProcess process_;
};

void compare(const WorkloadSpec& spec, const ProcessComparison& options, const std::string& self) {
  struct Side {
    std::string name;
    std::int64_t processes, shards;
  };
  const std::string several = std::to_string(options.processes) + " processes, ";
  const std::vector<Side> sides{{"1 process", 1, 1},
                                {"1 process, --shards 8", 1, 8},
                                {several + "--shards 0", options.processes, 0},
                                {several + "--shards 8", options.processes, 8}};
  std::vector<std::unique_ptr<Child>> ours;
  for (const Side& side : sides) {
    ours.push_back(std::make_unique<Child>(
        command_of(spec, side.processes, options.threads, side.shards, self)));
  }
  std::optional<DistributedPeer> peer;
  if (options.peer) peer.emplace(spec, options);
  std::vector<std::vector<double>> times(sides.size() + 1);
  for (std::int64_t turn = -kWarmUp; turn < options.reps; ++turn) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (i == sides.size() && !peer) continue;
      const double seconds = i < sides.size() ? std::stod(ours[i]->ask("")) : peer->seconds();
      if (turn >= 0) times[i].push_back(seconds);
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].empty()) continue;
    const std::string name =
        i < sides.size() ? sides[i].name : several + "DistributedDataParallel (gloo)";
    std::printf("%-24s %-46s %8.1f img/s  %5.2f", spec.id.c_str(), name.c_str(),
                static_cast<double>(spec.batch) / median(times[i]), speedup(times[i], times[0]));
    if (peer) std::printf("  %5.2f", speedup(times[i], times.back()));
    std::printf("\n");
  }
  std::fflush(stdout);
}

}  // namespace

void compare_processes(const std::vector<WorkloadSpec>& specs, const ProcessComparison& options,
                       const std::string& self) {
  std::printf("columns: speed, relative to one process%s; medians of %lld turns\n\n",
              options.peer ? ", relative to DistributedDataParallel" : "",
              static_cast<long long>(options.reps));
  for (const WorkloadSpec& spec : specs) {
    if (spec.mode == "train") compare(spec, options, self);
  }
}

int take_turns(const WorkloadSpec& spec, std::int64_t shards, Communicator& processes) {
  Workload workload(spec, processes, shards);
  for (;;) {
    int c = '\n';
    if (processes.is_first()) {
      do c = std::getchar();
      while (c != EOF && c != '\n');
    }
    broadcast(processes, std::as_writable_bytes(std::span(&c, 1)));
    if (c == EOF) return 0;
    const auto start = std::chrono::steady_clock::now();
    workload.step();
    barrier(processes);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (processes.is_first()) std::printf("%.9f\n", took.count());
    std::fflush(stdout);
  }
}

}  // namespace fovea::bench
