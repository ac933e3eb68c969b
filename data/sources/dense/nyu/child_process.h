// A child process that answers requests. It is for libraries that crash on damaged files: a crash
// ends the child, and the program reports an error.
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <string>

#include "engine/base/descriptor.h"

namespace fovea {

class ChildProcess {
 public:
  /// Answers one request. An exception becomes an Error with the same message in ask().
  using Answer = std::function<std::string(const std::string& request)>;

  /// Forks, and calls start() in the child; throws an Error with its message if it throws.
  /// `crashed` is the message of the Error if the child ends by itself. The child has no output and
  /// ignores the terminal's signals; it ends with this object, or with its parent. Other threads
  /// may be running: glibc's allocator works in the child even so. (AddressSanitizer's of LLVM 14
  /// does not if one of them allocates at that moment.)
  ChildProcess(std::string crashed, const std::function<Answer()>& start);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Sends a request and returns the child's answer. Threads take turns.
  [[nodiscard]] std::string ask(const std::string& request);

 private:
  [[nodiscard]] std::string answer();
  void stop();

  std::string crashed_;
  Descriptor channel_;
  pid_t child_ = -1;
  std::mutex mutex_;
};

}  // namespace fovea
