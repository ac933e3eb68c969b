// fovea PROGRAM [flags]: all programs as one, which `cmake --install` and the Python package
// install.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "apps/common/app.h"
#include "apps/common/version.h"
#include "apps/program_table.h"
#include "engine/base/fields.h"
#include "engine/base/names.h"
#include "engine/base/program_call.h"
#include "engine/comm/launcher.h"

namespace fovea {
namespace {

std::string usage() {
  std::size_t width = 0;
  for (const Program& program : all_programs()) width = std::max(width, program.name.size());
  std::string text = "usage: fovea PROGRAM [flags]\n\n";
  for (const Program& program : all_programs()) {
    text += "  " + program.name + std::string(width + 2 - program.name.size(), ' ') +
            program.about + "\n";
  }
  return text + "\n`fovea PROGRAM --help` lists the flags of a program.\n";
}

const Program* find_program(const std::string& name) {
  const auto& all = all_programs();
  const auto found = std::ranges::find(all, name, &Program::name);
  return found == all.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_program(const std::string& name) {
  std::vector<std::string> names{"help"};
  for (const Program& program : all_programs()) names.push_back(program.name);
  throw UsageError("fovea: there is no program " + name + did_you_mean(name, names));
}

/// Once, however many processes a launcher has started.
void say_new_name(const std::string& name) {
  const std::optional<Launcher> by = launcher();
  if (by && by->rank > 0) return;
  std::cerr << "note: this is `fovea " << name << "`; the next version will not install " << name
            << '\n';
}

}  // namespace

namespace programs {

int run_fovea(int argc, char** argv) {
  call_programs_by("fovea");
  const std::string own_name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "";
  if (const Program* const former = find_program(own_name)) {
    say_new_name(own_name);
    return former->run(argc, argv);
  }
  const std::string name = argc > 1 ? argv[1] : "";
  if (name.empty() || name == "help" || name == "-h" || name == "--help")
    throw HelpRequest{usage()};
  if (name == "--version") throw HelpRequest{version_text() + "\n"};
  const Program* const program = find_program(name);
  if (program == nullptr) refuse_program(name);
  return program->run(argc - 1, argv + 1);
}

}  // namespace programs
}  // namespace fovea
