// A child process that answers, fails or crashes.
#include "data/sources/dense/nyu/child_process.h"

#include <doctest/doctest.h>

#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// Repeats each request twice, fails at "fail", and crashes at "crash".
ChildProcess::Answer start() {
  return [](const std::string& request) {
    check(request != "fail", "a message");
    if (request == "crash") std::raise(SIGKILL);
    return request + request;
  };
}

TEST_CASE("a child process answers each request, however long") {
  ChildProcess child("crashed", start);
  CHECK(child.ask("ab") == "abab");
  CHECK(child.ask("").empty());
  const std::string longer(3'000'000, 'x');
  CHECK(child.ask(longer) == longer + longer);
}

TEST_CASE(
    "an error in a child process is thrown with its message, and the next request is answered") {
  ChildProcess child("crashed", start);
  CHECK_THROWS_WITH_AS(static_cast<void>(child.ask("fail")), "a message", Error);
  CHECK(child.ask("a") == "aa");
}

TEST_CASE("a crash of a child process is an error, now and later") {
  ChildProcess child("the file is damaged", start);
  for (const char* request : {"crash", "a"})
    CHECK_THROWS_WITH_AS(static_cast<void>(child.ask(request)), "the file is damaged", Error);
}

TEST_CASE("a child process that cannot start says why") {
  const auto broken = []() -> ChildProcess::Answer { fail("no such file"); };
  CHECK_THROWS_WITH_AS(ChildProcess("crashed", broken), "no such file", Error);
}

TEST_CASE("child processes end in any order") {
  auto first = std::make_unique<ChildProcess>("crashed", start);
  ChildProcess second("crashed", start);
  first.reset();
  CHECK(second.ask("a") == "aa");
}

TEST_CASE("threads that ask a child process take turns") {
  ChildProcess child("crashed", start);
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (std::size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string own(1000 * (i + 1), static_cast<char>('a' + i));
      for (int n = 0; n < 20; ++n) right[i] += child.ask(own) == own + own ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::vector<int>(4, 20));
}

}  // namespace
}  // namespace fovea
