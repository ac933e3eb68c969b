// A process that answers each line of its standard input with a line.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace fovea::bench {

class Child {
 public:
  /// Starts a program with its arguments; the program is looked up in PATH.
  explicit Child(const std::vector<std::string>& command);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Sends a line and waits for the answer. Throws Error if the process has ended.
  std::string ask(const std::string& line);

 private:
  std::string program_;
  pid_t pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace fovea::bench
