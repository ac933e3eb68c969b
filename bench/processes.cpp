// Every side runs in a process of its own, which takes a step for each line that it reads.
#include "bench/processes.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "bench/child.h"
#include "bench/median.h"
#include "bench/peer.h"

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

/// One side of the comparison, and the seconds of its turns.
struct Side {
  std::string name;
  std::int64_t processes, shards;
  std::unique_ptr<Child> program{};
  std::vector<double> seconds{};
};

std::vector<Side> our_sides(const WorkloadSpec& spec, const ProcessComparison& options,
                            const std::string& self) {
  const std::string several = std::to_string(options.processes) + " processes, ";
  std::vector<Side> sides;
  sides.push_back({"1 process", 1, 1});
  sides.push_back({"1 process, --shards 8", 1, 8});
  sides.push_back({several + "--shards 0", options.processes, 0});
  sides.push_back({several + "--shards 8", options.processes, 8});
  for (Side& side : sides) {
    side.program = std::make_unique<Child>(
        command_of(spec, side.processes, options.threads, side.shards, self));
  }
  return sides;
}

/// DistributedDataParallel beside one workload.
struct Rival {
  Peer* peer;
  std::string lack{};  ///< why it cannot run
  std::vector<double> seconds{};

  [[nodiscard]] bool runs() const { return peer != nullptr && lack.empty(); }
};

void take_turns(std::vector<Side>& sides, Rival& rival, std::int64_t reps) {
  for (std::int64_t turn = -kWarmUp; turn < reps; ++turn) {
    for (Side& side : sides) {
      const double seconds = std::stod(side.program->ask(""));
      if (turn >= 0) side.seconds.push_back(seconds);
    }
    if (!rival.runs()) continue;
    const double seconds = rival.peer->seconds();
    if (turn >= 0) rival.seconds.push_back(seconds);
  }
}

void print_row(const WorkloadSpec& spec, const std::string& name,
               const std::vector<double>& seconds, const std::vector<double>& of_one) {
  std::printf("%-24s %-46s %8.1f img/s  %5.2f", spec.id.c_str(), name.c_str(),
              static_cast<double>(spec.batch) / median(seconds), speedup(seconds, of_one));
}

void print(const WorkloadSpec& spec, const std::vector<Side>& sides, const Rival& rival,
           const std::string& rivals_name) {
  const std::vector<double>& of_one = sides.front().seconds;
  for (const Side& side : sides) {
    print_row(spec, side.name, side.seconds, of_one);
    if (rival.runs()) std::printf("  %5.2f", speedup(side.seconds, rival.seconds));
    std::printf("\n");
  }
  if (rival.runs()) {
    print_row(spec, rivals_name, rival.seconds, of_one);
    const std::string objection = rival.peer->objection(spec.precision);
    std::printf("  %5.2f%s%s\n", 1.0, objection.empty() ? "" : "  ", objection.c_str());
  } else if (rival.peer != nullptr) {
    std::printf("%-24s %-46s        -  %s\n", spec.id.c_str(), rivals_name.c_str(),
                rival.lack.c_str());
  }
  std::fflush(stdout);
}

}  // namespace

void compare_processes(const std::vector<WorkloadSpec>& specs, const ProcessComparison& options,
                       const std::string& self) {
  std::printf("columns: speed, relative to one process%s; medians of %lld turns\n\n",
              options.peer ? ", relative to DistributedDataParallel" : "",
              static_cast<long long>(options.reps));
  std::optional<Peer> peer;
  if (options.peer) peer.emplace("eager", Device{}, Peer::Options{.processes = options.processes});
  if (peer) std::printf("peer: %s\n\n", peer->about().c_str());
  const std::string rivals_name =
      std::to_string(options.processes) + " processes, DistributedDataParallel (gloo)";
  for (const WorkloadSpec& spec : specs) {
    if (spec.mode != "train") continue;
    Rival rival{peer ? &*peer : nullptr};
    if (peer) rival.lack = peer->set_up(spec, Workload(spec).parameters());
    std::vector<Side> sides = our_sides(spec, options, self);
    take_turns(sides, rival, options.reps);
    print(spec, sides, rival, rivals_name);
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
