// A child process and its pipes.
#include "bench/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "engine/base/error.h"

namespace fovea::bench {

Child::Child(const std::vector<std::string>& command) : program_(command.front()) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int down[2], up[2];
  // Another child must not keep these ends open: this one would never read the end of its input.
  check(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0, "bench: pipe failed");
  std::signal(SIGPIPE, SIG_IGN);  // ask() reports a child that has ended
  pid_ = fork();
  check(pid_ >= 0, "bench: fork failed");
  if (pid_ == 0) {
    dup2(down[0], STDIN_FILENO);
    dup2(up[1], STDOUT_FILENO);
    std::signal(SIGPIPE, SIG_DFL);
    execvp(arguments.front(), arguments.data());
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  to_ = fdopen(down[1], "w");
  from_ = fdopen(up[0], "r");
}

Child::~Child() {
  std::fclose(to_);
  std::fclose(from_);
  waitpid(pid_, nullptr, 0);
}

std::string Child::ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  char* text = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = getline(&text, &capacity, from_);
  std::string answer(text != nullptr && length > 0 ? text : "");
  std::free(text);
  check(!answer.empty(), "bench: ", program_, " ended; see its message above");
  return answer;
}

}  // namespace fovea::bench
