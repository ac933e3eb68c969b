// Entry point shared by all programs: exit codes, help and error messages.
#pragma once

#include <exception>
#include <string>

namespace fovea {

/// Requests printing a text such as --help. Not an error: the text goes to stdout, exit code 0.
struct HelpRequest {
  std::string text;
};

/// Prints an error as one line, "error: ..." on stderr, with `prefix` before its message. Returns
/// the exit code: 2 for incorrect usage, 1 for all other errors.
int report_error(const std::exception_ptr& error, const std::string& prefix = "");

/// Configures how threads wait, calls body and returns its result. Errors become one line "error:
/// ..." on stderr. Exit code 2 for incorrect usage, 1 for all other errors, including failed writes
/// to standard output.
int run_app(int argc, char** argv, int (*body)(int argc, char** argv));

}  // namespace fovea
