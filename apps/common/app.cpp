// The main loop of every program, and the only code that turns exceptions into exit codes.
#include "apps/common/app.h"

#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <system_error>

#include "apps/common/waiting.h"
#include "data/loading/loader.h"
#include "engine/base/fields.h"
#include "engine/base/output.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

/// The limits of memory and of processes give the same error.
constexpr const char* kNoThread =
    "cannot start a thread: out of memory, or too many processes; fewer --workers need less";

/// Prints an error as one line, whatever characters the quoted names contain, and in one piece,
/// which the output of other processes cannot break.
int complain(int code, const std::string& message, const char* advice = "") {
  std::cerr << "error: " + visible_text(message) + advice + "\n" << std::flush;
  return code;
}

int run_body(int argc, char** argv, int (*body)(int argc, char** argv)) {
  try {
    return body(argc, argv);
  } catch (const HelpRequest& help) {
    std::cout << help.text;
    return 0;
  } catch (const std::exception&) {
    return report_error(std::current_exception());
  }
}

/// Raises the limit of open files: tar shards stay open, and there may be thousands.
void allow_many_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

}  // namespace

int report_error(const std::exception_ptr& thrown, const std::string& prefix) {
  try {
    std::rethrow_exception(thrown);
  } catch (const UsageError& error) {
    return complain(2, prefix + error.what(), " (see --help)");
  } catch (const AllImagesBad& error) {
    return complain(1, prefix + error.what());
  } catch (const TooManyBadImages& error) {
    return complain(
        1, prefix + error.what(),
        " (--on-bad-image skip continues without them; --verify-data of the training programs "
        "and of encode lists all)");
  } catch (const std::bad_alloc&) {
    return complain(1, prefix + "out of memory; use a smaller --batch-size");
  } catch (const std::system_error& error) {
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    return complain(1, prefix + (is_thread ? kNoThread : error.what()));
  } catch (const std::exception& error) {
    return complain(1, prefix + error.what());
  }
}

int run_app(int argc, char** argv, int (*body)(int argc, char** argv)) {
  limit_openmp_spinning(argv);
  open_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit then makes the write fail with an error
  allow_many_open_files();
  const VisibleStreams streams;
  const int code = run_body(argc, argv, body);
  std::cout.flush();
  int failure = output_error();
  if (std::fflush(stdout) != 0) failure = errno;
  const bool failed = failure != 0 || std::ferror(stdout) != 0;
  if (!failed || code != 0) return code;
  return complain(
      1, "cannot write standard output: " + (failure != 0 ? std::generic_category().message(failure)
                                                          : std::string("a write failed")));
}

}  // namespace fovea
