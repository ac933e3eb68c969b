// The programs of cmake/programs.txt, and `fovea`, which runs them by name.
#pragma once

#include <string>
#include <vector>

namespace fovea {

struct Program {
  std::string name;
  std::string about;  ///< what it does, in a few words
  int (*run)(int argc, char** argv);
};

/// In the order of the list.
[[nodiscard]] const std::vector<Program>& all_programs();

namespace programs {

/// `fovea PROGRAM [flags]`, a body for run_app(). Installed under a program's own name, as all were
/// up to 0.11, it is that program, after a note.
int run_fovea(int argc, char** argv);

}  // namespace programs
}  // namespace fovea
