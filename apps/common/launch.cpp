// Output, cores and errors of several processes.
#include "apps/common/launch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "apps/common/app.h"
#include "engine/base/control_group.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/comm/cores.h"
#include "engine/comm/launcher.h"
#include "engine/comm/world.h"
#include "engine/cpu_isa.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

/// The number of threads for a process's own cores: fewer if the processes share a quota of
/// processor time.
int threads_for(const Cores& own, const Communicator& processes) {
  const int cores = static_cast<int>(own.size());
  const int quota = processors_of_groups().value_or(cores * processes.local_size());
  return std::clamp(quota / processes.local_size(), 1, cores);
}

/// Binds cores and silences all but the first process. Returns Launch::cores.
std::string share_machine(Communicator& processes) {
  const Cores own = bind_cores(processes);
  if (std::getenv("OMP_NUM_THREADS") == nullptr) set_num_threads(threads_for(own, processes));
  const std::vector<std::string> all = all_gather(processes, to_text(own));
  if (!processes.is_first()) {
    check(std::freopen("/dev/null", "w", stdout) != nullptr, "cannot open /dev/null");
  }
  std::string text;
  for (int rank = 0; rank < processes.local_size(); ++rank) {
    text += (rank == 0 ? "" : " | ") + all[static_cast<std::size_t>(rank)];
  }
  return text;
}

/// Throws unless all processes are the same program with the same command line.
void require_same_program(Communicator& processes, int argc, char** argv) {
  std::string flags;
  for (int i = 1; i < argc; ++i) flags += std::string(argv[i]) + '\0';
  require_same(processes, "flags", flags);
  require_same(processes, "build of the program", read_file("/proc/self/exe"));
}

/// All processes compute with the instruction set of the first, as bits depend on it. Call it
/// before this process computes.
void share_instruction_set(Communicator& processes) {
  const bool is_first = processes.is_first();
  const std::string first =
      broadcast(processes, is_first ? std::string(to_string(cpu_isa())) : std::string());
  if (is_first) return;
  check(processor_has(find_named<Isa>(first).value()), "the first process computes with the ",
        "instruction set ", first,
        ", which this machine's processor lacks; set FOVEA_ISA to a set ",
        "that all of them have: this one supports ", supported_isas());
  ::setenv("FOVEA_ISA", first.c_str(), /*overwrite=*/1);
}

}  // namespace

void require_one_process() {
  const std::optional<Launcher> by = launcher();
  const bool is_launched = by && by->size > 1;
  const int started = is_launched ? by->size : processes_of_torchrun();
  if (is_launched && by->rank > 0) throw HelpRequest{};  // the first process says so for all
  check(started <= 1, is_launched ? by->name : "WORLD_SIZE", " says that ", started,
        " processes were started, but this program runs in one: each would do all of the work; ",
        "start it without a launcher");
}

int run_in_processes(int argc, char** argv, const std::function<int(const Launch&)>& body) {
  const std::unique_ptr<Communicator> joined = join_world();
  if (joined == nullptr || joined->size() == 1) return body({single_process(), ""});
  Communicator& processes = *joined;
  try {
    const std::string cores = share_machine(processes);
    require_same_program(processes, argc, argv);
    share_instruction_set(processes);
    return body({processes, cores});
  } catch (const HelpRequest&) {
    if (processes.is_first()) throw;
    return 0;
  } catch (...) {
    // Most errors are those of several processes. The first of them says so and ends the others.
    constexpr int kStages = 10;
    std::this_thread::sleep_for(std::min(processes.rank(), kStages) *
                                std::chrono::milliseconds(500));
    const std::string name = processes.is_first()
                                 ? ""
                                 : "process " + std::to_string(processes.rank()) + " of " +
                                       std::to_string(processes.size()) + ": ";
    const int code = report_error(std::current_exception(), name);
    processes.abort(code);
    return code;
  }
}

}  // namespace fovea
