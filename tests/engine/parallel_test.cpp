// Parallel loops: every index once, exceptions out, nothing depends on the thread count.
#include "engine/parallel.h"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/interruption.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

TEST_CASE("parallel_for visits each index once, for any grain and thread count") {
  const int before = num_threads();
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const std::int64_t grain : {1, 7, 1000}) {
      std::vector<int> visits(101, 0);
      parallel_for(101, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      CHECK(visits == std::vector<int>(101, 1));
    }
  }
  set_num_threads(before);
}

TEST_CASE("the exception of the lowest chunk comes out") {
  const int before = num_threads();
  set_num_threads(2);
  const auto throwing = [](std::int64_t begin, std::int64_t) {
    if (begin >= 3) fail("chunk ", begin);
  };
  for (int i = 0; i < 20; ++i) CHECK_THROWS_WITH_AS(parallel_for(9, 1, throwing), "chunk 3", Error);
  set_num_threads(before);
}

TEST_CASE("an empty range calls nothing, a nested loop runs inline") {
  parallel_for(0, 1, [](std::int64_t, std::int64_t) { FAIL("called"); });
  std::vector<int> visits(12, 0);
  parallel_for(3, 1, [&](std::int64_t outer, std::int64_t) {
    parallel_for(4, 1, [&](std::int64_t inner, std::int64_t) {
      ++visits[static_cast<std::size_t>(4 * outer + inner)];
    });
  });
  CHECK(visits == std::vector<int>(12, 1));
}

TEST_CASE("a grain as large as a number can be is one chunk") {
  std::vector<std::int64_t> seen;
  parallel_for(100, INT64_MAX, [&](std::int64_t begin, std::int64_t end) {
    seen.insert(seen.end(), {begin, end});
  });
  CHECK(seen == std::vector<std::int64_t>{0, 100});
}

#if defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);  // ends children with threads
#else
constexpr bool kThreadSanitizer = false;
#endif

TEST_CASE("a child of fork() computes on one thread after its parent has used several") {
  const int before = num_threads();
  set_num_threads(2);
  const auto sum = [] {
    std::atomic<int> visits = 0;
    parallel_for(8, 1, [&](std::int64_t, std::int64_t) { ++visits; });
    return visits.load();
  };
  CHECK(sum() == 8);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that waits for its parent's threads would wait for ever
    if (!kThreadSanitizer) set_num_threads(2);
    _exit(sum() == 8 && num_threads() == 1 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(num_threads() == 2);
  set_num_threads(before);
}

TEST_CASE("numbers of threads that cannot be are refused") {
  CHECK_THROWS_AS(set_num_threads(0), Error);
  CHECK(contains(message_of([] { set_num_threads(1'000'000); }), "expected at most"));
}

TEST_CASE("a loop that is interrupted runs no more chunks, and one that is not runs all") {
  const int before = num_threads();
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    set_num_threads(threads);
    std::atomic<int> chunks = 0;
    const auto body = [&](std::int64_t, std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ++chunks;
    };
    {
      const InterruptibleLoops interruptible([] { fail("interrupted"); });
      CHECK_THROWS_WITH_AS(parallel_for(60, 1, body), "interrupted", Error);
      CHECK(chunks < 60);
      parallel_for(5, 1, body);  // shorter than the time between two looks
    }
    chunks = 0;
    parallel_for(20, 1, body);
    CHECK(chunks == 20);
  }
  set_num_threads(before);
}

#if !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)  // sanitizers need more memory than any limit
TEST_CASE("threads that the system refuses are an error that says what helps") {
  const pid_t child = ::fork();
  if (child == 0) {  // with room for little more than it has: not for the stacks of many threads
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = static_cast<rlim_t>(pages) * static_cast<rlim_t>(::getpagesize());
    const rlimit limit{most + (1 << 22), most + (1 << 22)};
    const bool is_set = ::setrlimit(RLIMIT_AS, &limit) == 0;
    const std::string message = message_of([] { set_num_threads(200); });
    ::_exit(is_set && contains(message, "of 200 could be started: too many processes") ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}
#endif
