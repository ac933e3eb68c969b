// Collective functions, and one process.
#include "engine/comm/communicator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "engine/base/error.h"
#include "engine/comm/background.h"
#include "tests/support/thread_world.h"

namespace fovea {
namespace {

TEST_CASE("every process gets the numbers of all in the order of ranks") {
  for (const int size : {1, 2, 3, 5}) {
    test::in_threads(size, [&](Communicator& processes) {
      const std::vector<double> mine(static_cast<std::size_t>(processes.rank()), processes.rank());
      const auto all = all_gather(processes, mine);
      REQUIRE(std::ssize(all) == size);
      for (int rank = 0; rank < size; ++rank)
        CHECK(all[rank] == std::vector<double>(static_cast<std::size_t>(rank), rank));
      CHECK(all_gather(processes, "p" + std::to_string(processes.rank())).back() ==
            "p" + std::to_string(size - 1));
    });
  }
}

TEST_CASE("a broadcast copies the first process's text, whatever the others have") {
  test::in_threads(3, [](Communicator& processes) {
    CHECK(broadcast(processes, processes.is_first() ? "long text" : "x") == "long text");
    CHECK(broadcast(processes, processes.is_first() ? "" : "x").empty());
    barrier(processes);
  });
}

TEST_CASE("what one process says, all know") {
  test::in_threads(3, [](Communicator& processes) {
    CHECK(any(processes, processes.rank() == 2));
    CHECK_FALSE(any(processes, false));
  });
  CHECK(any(single_process(), true));
  CHECK_FALSE(any(single_process(), false));
}

TEST_CASE("one process has nobody to write to") {
  const std::byte byte{};
  CHECK_THROWS_AS(single_process().exchange(std::vector<Outgoing>{{0, std::span(&byte, 1)}}, {}),
                  Error);
  barrier(single_process());
  CHECK(broadcast(single_process(), "text") == "text");
}

TEST_CASE("an all-reduce adds up the vectors of all processes in place") {
  test::in_threads(3, [](Communicator& process) {
    const Tensor vector = full({5}, process.rank() + 1, {DType::f32, {}});
    process.all_reduce(vector);
    CHECK(vector.to_vector() == std::vector<double>(5, 6));
  });
}

TEST_CASE("tasks run in their order beside the caller, and the first error reaches it") {
  std::vector<int> order;
  Background background;
  for (int i = 0; i < 100; ++i) background.run(0, [&order, i] { order.push_back(i); });
  background.finish();
  REQUIRE(order.size() == 100);
  CHECK(std::is_sorted(order.begin(), order.end()));
  background.run(0, [] { fail("a lost connection"); });
  background.run(0, [&] { order.clear(); });
  CHECK_THROWS_WITH_AS(background.finish(), "a lost connection", Error);
  CHECK(order.size() == 100);
  background.run(0, [&] { order.clear(); });
  background.finish();
  CHECK(order.empty());
}

TEST_CASE("lanes run at the same time, and the time in which any of them works is counted once") {
  Background background(2);
  std::promise<void> first, second;
  background.run(0, [&] {
    first.set_value();
    second.get_future().wait();
  });
  background.run(1, [&] {
    first.get_future().wait();
    second.set_value();
  });
  background.finish();
  const double before = background.seconds();
  const auto rest = std::chrono::milliseconds(50);
  const auto start = std::chrono::steady_clock::now();
  for (const std::size_t lane : {0, 1}) {
    background.run(lane, [&] { std::this_thread::sleep_for(rest); });
  }
  background.finish();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  CHECK(background.seconds() - before >= std::chrono::duration<double>(rest).count());
  CHECK(background.seconds() - before <= passed.count());
}

TEST_CASE("messages of a duplicate do not mix with those of its communicator") {
  test::in_threads(2, [](Communicator& processes) {
    const std::unique_ptr<Communicator> other = processes.duplicate();
    CHECK(other->rank() == processes.rank());
    CHECK(other->size() == 2);
    std::byte five{5}, six{6}, first{}, second{};
    const auto receive = [](Communicator& from, std::byte& byte) {
      from.exchange({}, std::vector<Incoming>{{0, std::span(&byte, 1)}});
    };
    if (processes.is_first()) {
      processes.exchange(std::vector<Outgoing>{{1, std::span(&five, 1)}}, {});
      return other->exchange(std::vector<Outgoing>{{1, std::span(&six, 1)}}, {});
    }
    receive(*other, first);
    receive(processes, second);
    CHECK(first == six);
    CHECK(second == five);
  });
  CHECK(single_process().duplicate()->size() == 1);
}

}  // namespace
}  // namespace fovea
