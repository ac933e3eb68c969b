// Output, cores and errors of several processes.
#include "apps/together.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "apps/app.h"
#include "base/error.h"
#include "base/files.h"
#include "engine/parallel.h"

namespace fovea {

void share_machine(const Communicator& processes) {
  if (processes.size() == 1) return;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int share = std::max(1, cores / processes.local_size());
  if (num_threads() > share) set_num_threads(share);
  if (processes.is_first()) return;
  check(std::freopen("/dev/null", "w", stdout) != nullptr, "cannot open /dev/null");
}

void require_same_program(Communicator& processes, int argc, char** argv) {
  if (processes.size() == 1) return;
  std::string flags;
  for (int i = 1; i < argc; ++i) flags += std::string(argv[i]) + '\0';
  require_same(processes, "flags", flags);
  require_same(processes, "build of the program", read_file("/proc/self/exe"));
}

int run_together(Communicator& processes, const std::function<int()>& body) {
  if (processes.size() == 1) return body();
  try {
    return body();
  } catch (const HelpRequest&) {
    if (processes.is_first()) throw;
    return 0;
  } catch (...) {
    // Most errors are all processes' errors, and the first one says so.
    if (!processes.is_first()) std::this_thread::sleep_for(std::chrono::seconds(1));
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
