// What NCCL would punish by never ending is an error on the fake device, and what may happen to a
// rank is one of its communicator.
#include <doctest/doctest.h>

#include <nccl.h>

#include <barrier>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/comm/exchange_queue.h"
#include "engine/copy.h"
#include "engine/tensor.h"
#include "tests/cuda/fake/queues.h"
#include "tests/cuda/ranks.h"
#include "tests/cuda/seeds.h"

using namespace fovea;
using fake::Queues;
using tests::in_ranks;
using tests::take_findings;
using tests::use_seed;
using tests::Way;

namespace {

/// The error of a program whose ranks call body(), and the device's first finding.
struct Outcome {
  std::string error, finding;
};
Outcome outcome(int ranks, const std::function<void(Communicator&, Device)>& body,
                double timeout = 60) {
  Outcome all;
  try {
    in_ranks(ranks, Way::nccl, body, timeout);
  } catch (const Error& error) {
    all.error = error.what();
  }
  const std::vector<std::string> findings = take_findings();
  if (!findings.empty()) all.finding = findings.front();
  return all;
}

std::span<std::byte> bytes_of(const Tensor& x) {
  return {x.raw(), static_cast<std::size_t>(x.numel()) * size_of(x.dtype())};
}

void check_has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

/// A tensor of this many floats, which are written.
Tensor floats(Device device, std::int64_t count) {
  const Tensor x = ones({count}, {DType::f32, device});
  cuda::Stream::current(device.index).synchronize();
  return x;
}

/// Sends x to the other one of two ranks and receives y.
void swap(Communicator& processes, const Tensor& x, const Tensor& y) {
  const int other = 1 - processes.rank();
  processes.exchange_on_device(std::vector<Outgoing>{{other, bytes_of(x)}},
                               std::vector<Incoming>{{other, bytes_of(y)}}, x.device());
}

/// What two ranks read of what they receive, whose ops make a 2 of a 1 before. The stream that is
/// late runs when no other one can.
struct Course {
  bool waits_for_ops = true, holds_ops = true, exchange_is_late = false;
};
std::set<double> received(Way way, const Course& course) {
  std::set<double> all;
  std::mutex mutex;
  std::barrier both_are_idle(2);  // waiting for a device also runs the other one's streams
  Queues& queues = Queues::instance();
  in_ranks(2, way, [&](Communicator& processes, Device device) {
    const Tensor x = floats(device, 8), y = floats(device, 8), one = floats(device, 8);
    const ExchangeQueue queue(device);
    swap(processes, x, y);  // joins
    cuda::synchronize(device.index);
    both_are_idle.arrive_and_wait();
    const cuda::Stream late = course.exchange_is_late ? cuda::Stream::exchange(device.index)
                                                      : cuda::Stream::compute(device.index);
    {
      const std::lock_guard lock(queues.mutex);
      queues.pace = fake::Pace::late;
      queues.delayed.insert(static_cast<cudaStream_t>(late.handle()));
    }
    const ExchangeQueue::Ready before = queue.after_ops();
    add_into(x, one);
    const ExchangeQueue::Ready after = queue.after_ops();
    {
      const ExchangeQueue::Scope scope(queue, course.waits_for_ops ? after : before);
      swap(processes, x, y);
    }
    if (course.holds_ops) queue.hold_ops();
    const double value = y.at(7);
    const std::lock_guard lock(mutex);
    all.insert(value);
  });
  queues.pace = fake::Pace::drawn;
  queues.delayed.clear();
  return all;
}

}  // namespace

TEST_CASE("messages between two ranks arrive in the order of the lists") {
  for (const Way way : {Way::host_memory, Way::nccl}) {
    in_ranks(2, way, [](Communicator& processes, Device device) {
      const int other = 1 - processes.rank();
      std::vector<Tensor> sent, received;
      std::vector<Outgoing> out;
      std::vector<Incoming> in;
      for (int i = 0; i < 3; ++i) {
        sent.push_back(full({i}, 10 * i + processes.rank(), {DType::f32, device}));
        received.push_back(floats(device, i));
        out.push_back({other, bytes_of(sent.back())});
        in.push_back({other, bytes_of(received.back())});
      }
      processes.exchange_on_device(out, in, device);
      for (int i = 1; i < 3; ++i) CHECK(received[i].at(i - 1) == 10 * i + other);
    });
  }
  CHECK(take_findings().empty());
}

TEST_CASE("an exchange that does not wait for the ops sends what was there before") {
  for (const Way way : {Way::host_memory, Way::nccl}) {
    CHECK(received(way, {}) == std::set<double>{2});
    CHECK(received(way, {.waits_for_ops = false}) == std::set<double>{1});
  }
  CHECK(take_findings().empty());
}

TEST_CASE("ops that do not wait for a copy from host memory read what was there before") {
  const auto late = [](bool holds) {
    return received(Way::host_memory, {.holds_ops = holds, .exchange_is_late = true});
  };
  CHECK(late(true) == std::set<double>{2});
  CHECK(late(false) == std::set<double>{1});
  CHECK(received(Way::nccl, {.exchange_is_late = true}) == std::set<double>{2});
  CHECK(take_findings().empty());
}

TEST_CASE("ranks that exchange in another order are an error that names both calls") {
  const Outcome of = outcome(2, [](Communicator& processes, Device device) {
    const Tensor x = floats(device, 10), y = floats(device, 20);
    for (const Tensor& each : {processes.rank() == 0 ? x : y, processes.rank() == 0 ? y : x}) {
      swap(processes, each, each.clone());
    }
  });
  check_has(of.error, "launch failure");
  check_has(of.finding, "call 1 of rank 0");
  check_has(of.finding, "call 1 of rank 1");
  check_has(of.finding, "40 bytes");
  check_has(of.finding, "80 bytes");
}

TEST_CASE("ranks that wait for each other's next exchange are a deadlock") {
  const Outcome of = outcome(3, [](Communicator& processes, Device device) {
    const Tensor x = floats(device, 10), y = floats(device, 10);
    const int next = (processes.rank() + 1) % 3, before = (processes.rank() + 2) % 3;
    processes.exchange_on_device(std::vector<Outgoing>{{next, bytes_of(x)}}, {}, device);
    processes.exchange_on_device({}, std::vector<Incoming>{{before, bytes_of(y)}}, device);
  });
  CHECK_FALSE(of.error.empty());
  CHECK(of.finding ==
        "NCCL: a deadlock: call 1 of rank 0 (sends 40 bytes to rank 1) waits for the end of call 1 "
        "of "
        "rank 1 (sends 40 bytes to rank 2)");
}

TEST_CASE("memory of another device, and memory that is not there, are refused") {
  const auto finding = [](const std::function<Tensor(Device)>& make, std::size_t bytes) {
    return outcome(2,
                   [&](Communicator& processes, Device device) {
                     const Tensor x = make(device), y = floats(device, 4);
                     const int other = 1 - processes.rank();
                     processes.exchange_on_device(std::vector<Outgoing>{{other, {x.raw(), bytes}}},
                                                  std::vector<Incoming>{{other, {y.raw(), bytes}}},
                                                  device);
                   })
        .finding;
  };
  const auto own = [](Device device) { return floats(device, 4); };
  CHECK(finding(own, 16) == "");
  check_has(finding(
                [](Device) {
                  return floats({DeviceType::cuda, 3}, 4);
                },
                16),
            "memory or a stream of another device");
  check_has(finding([](Device) { return ones({4}); }, 16), "not memory of a device");
  check_has(finding([](Device device) { return floats(device, 1024); }, 4096), "out of bounds");
  const auto fresh = [](Device device) {
    cuda::release_cached_memory(device.index);
    return empty({4}, {DType::f32, device});
  };
  check_has(finding(fresh, 16), "memory that nobody has written");
}

TEST_CASE("a rank that ends is an error of those that wait for it") {
  std::string error;
  const Outcome of = outcome(2, [&](Communicator& processes, Device device) {
    const Tensor x = floats(device, 4);
    swap(processes, x, x.clone());
    check(processes.rank() == 0, "rank 1 ends");
    try {
      swap(processes, x, x.clone());
    } catch (const Error& of_other) {
      error = of_other.what();
    }
  });
  CHECK(of.error == "rank 1 ends");
  check_has(error, "remote process exited");
  check_has(error, "NCCL_DEBUG=WARN");
}

TEST_CASE("a rank that does not come is an error at the time limit") {
  const Outcome of = outcome(
      2,
      [](Communicator& processes, Device device) {
        const Tensor x = floats(device, 4);
        swap(processes, x, x.clone());
        if (processes.rank() == 0) swap(processes, x, x.clone());
        barrier(processes);
      },
      0.05);
  CHECK(of.error ==
        "NCCL: an exchange with processes 1 has not ended in 0.05 s: one of them is missing; "
        "--comm-timeout sets how long to wait");
  CHECK(of.finding == "");
}

TEST_CASE("NCCL's rules are looked at") {
  const auto refusal = [](const std::function<void(ncclComm_t)>& act) {
    cuda::set_device(0);
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    REQUIRE(ncclCommInitRankConfig(&comm, 2, id, 0, &config) == ncclInProgress);
    act(comm);
    ncclCommAbort(comm);
    const std::vector<std::string> findings = take_findings();
    return findings.empty() ? "" : findings.front();
  };
  CHECK(refusal([](ncclComm_t) {}) == "");
  check_has(refusal([](ncclComm_t) { ncclGroupEnd(); }), "ncclGroupEnd without ncclGroupStart");
  check_has(refusal([](ncclComm_t comm) { ncclSend(nullptr, 1, ncclChar, 1, comm, nullptr); }),
            "not all ranks have joined");
  const auto joins = [&](int ranks, int rank, int device, int blocking) {
    return refusal([&](ncclComm_t comm) {
      ncclUniqueId id;
      ncclGetUniqueId(&id);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      ncclComm_t first = nullptr, second = nullptr;
      config.blocking = 0;
      ncclCommInitRankConfig(&first, 2, id, 0, &config);
      config.blocking = blocking;
      cuda::set_device(device);
      ncclCommInitRankConfig(&second, ranks, id, rank, &config);
      ncclCommAbort(first);
      if (second != nullptr) ncclCommAbort(second);
      static_cast<void>(comm);
    });
  };
  CHECK(joins(2, 1, 1, 0) == "");
  check_has(joins(2, 1, 0, 0), "have the same device");
  check_has(joins(2, 0, 1, 0), "joins twice");
  check_has(joins(3, 1, 1, 0), "different numbers of ranks");
  check_has(joins(2, 1, 1, 1), "blocking");
}
