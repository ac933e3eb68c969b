// Signals as requests to stop.
#include "apps/common/signals.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <vector>

namespace fovea {
namespace {

/// While it lives, none of these signals is ignored, as SIGHUP is under nohup.
class DefaultSignals {
 public:
  DefaultSignals() {
    for (const int number : kNumbers) before_.push_back(std::signal(number, SIG_DFL));
  }
  ~DefaultSignals() {
    for (std::size_t i = 0; i < before_.size(); ++i) std::signal(kNumbers[i], before_[i]);
  }
  DefaultSignals(const DefaultSignals&) = delete;
  DefaultSignals& operator=(const DefaultSignals&) = delete;

  static constexpr std::array kNumbers{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

 private:
  std::vector<void (*)(int)> before_;
};

/// The exit code of a process that receives these signals during a SignalRequest, and then ends
/// with `code`.
int code_after(const std::vector<int>& signals, int code) {
  const pid_t child = ::fork();
  if (child == 0) {
    const SignalRequest request;
    for (const int number : signals) static_cast<void>(std::raise(number));
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("the first signal of a batch system before its time limit is a request to stop") {
  const DefaultSignals none_ignored;
  for (const int number : DefaultSignals::kNumbers) {
    CAPTURE(number);
    const SignalRequest request;
    CHECK(SignalRequest::pending() == 0);
    REQUIRE(std::raise(number) == 0);
    CHECK(SignalRequest::pending() == number);
  }
}

TEST_CASE("a second signal ends the program at once, but batch systems send several") {
  const DefaultSignals none_ignored;
  for (const int second : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(second);
    CHECK(code_after({SIGINT, second}, 7) == 128 + second);
    CHECK(code_after({SIGUSR1, second}, 7) == 128 + second);
  }
  CHECK(code_after({SIGUSR1, SIGUSR1, SIGUSR2}, 7) == 7);
  CHECK(code_after({SIGXCPU, SIGXCPU, SIGXCPU}, 7) == 7);
}

TEST_CASE("signals that were ignored at the start stay ignored") {
  for (const int number : {SIGHUP, SIGUSR1, SIGUSR2}) {
    CAPTURE(number);
    const auto before = std::signal(number, SIG_IGN);
    {
      const SignalRequest request;
      REQUIRE(std::raise(number) == 0);
      CHECK(SignalRequest::pending() == 0);
    }
    std::signal(number, before);
  }
}

TEST_CASE("with a handler from before, as an interpreter has, a second signal is that one's") {
  static int heard = 0;
  heard = 0;
  const auto before = std::signal(SIGINT, [](int number) { heard += number; });
  {
    const SignalRequest request;
    {
      const SignalRequest inside;
      REQUIRE(std::raise(SIGINT) == 0);
      CHECK(heard == 0);
      REQUIRE(std::raise(SIGINT) == 0);
    }
    CHECK(heard == SIGINT);
    CHECK(SignalRequest::pending() == SIGINT);
    REQUIRE(std::raise(SIGINT) == 0);
    CHECK(heard == 2 * SIGINT);
  }
  REQUIRE(std::raise(SIGINT) == 0);
  CHECK(heard == 3 * SIGINT);
  std::signal(SIGINT, before);
}

}  // namespace fovea
