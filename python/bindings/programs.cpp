// The programs, as the command `fovea`.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "apps/common/app.h"
#include "apps/program_table.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"

namespace fovea::python {
namespace {

/// The exit code of `fovea` with these arguments. The environment must say how threads wait: else
/// run_app() would start Python anew.
int run_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fovea");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return run_app(static_cast<int>(arguments.size()), argv.data(), programs::run_fovea);
}

}  // namespace

void bind_programs(nb::module_& m) { m.def("run_command", run_command, "arguments"_a, no_gil); }

}  // namespace fovea::python
