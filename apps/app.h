// What all programs share: exit codes, help, error messages.
#pragma once

#include <string>

namespace fovea {

/// A text was asked for, as by --help. Not an error: the text goes to stdout, the exit code is 0.
struct HelpRequest {
  std::string text;
};

/// Sets how threads wait, calls body and returns its result. Errors become one line "error: ..." on
/// stderr: 2 for wrong usage, 1 for everything else, also where standard output could not be
/// written.
int run_app(int argc, char** argv, int (*body)(int argc, char** argv));

}  // namespace fovea
