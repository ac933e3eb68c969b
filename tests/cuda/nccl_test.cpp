// Ranks with a fake device each: sums and training steps through NCCL and through host memory, and
// what NCCL would punish by never ending.
#include <doctest/doctest.h>

#include <nccl.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/exchange_queue.h"
#include "comm/tree_sum.h"
#include "comm/world.h"
#include "engine/copy.h"
#include "engine/cuda/runtime.h"
#include "ops/arithmetic.h"
#include "tests/cuda/fake/queues.h"
#include "tests/cuda/seeds.h"
#include "tests/support/thread_world.h"
#include "tests/support/tiny_run.h"

using namespace fovea;
using fake::Queues;
using tests::take_findings;
using tests::use_seed;

namespace {

constexpr int kRanks = 4;
constexpr std::int64_t kShards = 8;
[[maybe_unused]] const int four_devices =
    setenv("FOVEA_FAKE_DEVICES", "4", 1);  // before the first call

/// A communicator of someone else, for a decorator that wants its own.
class Borrowed final : public Communicator {
 public:
  explicit Borrowed(Communicator& lender) : lender_(lender) {}
  [[nodiscard]] int rank() const override { return lender_.rank(); }
  [[nodiscard]] int size() const override { return lender_.size(); }
  [[nodiscard]] int local_rank() const override { return lender_.local_rank(); }
  [[nodiscard]] int local_size() const override { return lender_.local_size(); }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    lender_.exchange(out, in);
  }
  void all_reduce(const Tensor& vector) override { lender_.all_reduce(vector); }
  void set_timeout(std::chrono::duration<double> timeout) override { lender_.set_timeout(timeout); }
  void cancel() override { lender_.cancel(); }
  [[noreturn]] void abort(int /*code*/) override { fail("rank ", rank(), " ends all"); }

 private:
  Communicator& lender_;
};

enum class Way { host_memory, nccl };

/// Calls body(processes, device) in a thread for each rank.
void in_ranks(int ranks, Way way, const std::function<void(Communicator&, Device)>& body,
              double timeout = 60) {
  test::in_threads(ranks, [&](Communicator& threads) {
    std::unique_ptr<Communicator> processes = std::make_unique<Borrowed>(threads);
    if (way == Way::nccl) processes = detail::with_nccl(std::move(processes));
    processes->set_timeout(std::chrono::duration<double>(timeout));
    cuda::set_device(threads.rank());
    body(*processes, {DeviceType::cuda, threads.rank()});
  });
}

/// Values whose sums depend on the order of addition.
Tensor values_of(std::int64_t shard, std::int64_t length, DType dtype) {
  const Tensor x = rand_normal({length}, {0, 1}, {static_cast<std::uint64_t>(shard) + 1});
  return ops::mul(x, ops::mul(x, x)).to(dtype);
}

/// The sum over all shards, in the queue of exchanges, while ops go on.
std::vector<double> summed(int ranks, Way way, std::int64_t length, DType dtype) {
  std::vector<std::vector<double>> results(static_cast<std::size_t>(ranks));
  in_ranks(ranks, way, [&](Communicator& processes, Device device) {
    const Shards own = shards_of(kShards, processes.rank(), processes.size());
    const ExchangeQueue queue(device);
    TreeSum local;
    for (std::int64_t shard = own.first; shard < own.end; ++shard) {
      local.add({0, shard, values_of(shard, length, dtype).to(device)});
    }
    queue.wait_for_ops();
    Tensor sum;
    {
      const ExchangeQueue::Scope scope(queue);
      sum = sum_over_shards(processes, own, local);
    }
    local = {};
    const Tensor other = full({length}, 7, {dtype, device});  // might get the shards' memory
    queue.share(sum);
    queue.hold_ops();
    results[processes.rank()] = ops::add(sum, other).to_vector();
  });
  for (const auto& result : results) CHECK(result == results.front());
  return results.front();
}

using Bits = std::map<std::string, std::vector<double>>;

/// Three steps of a classifier in eight shards.
Bits trained(int ranks, Way way) {
  TrainConfig config = plain_config();
  config.model.name = "linear";
  config.model.settings = {};
  config.images.loader.batch_size = 16;
  config.loop.shards = kShards;
  config.loop.max_steps = 3;
  classification_of(config).mix.mixup = 0.8;
  std::vector<Bits> bits(static_cast<std::size_t>(ranks));
  in_ranks(ranks, way, [&](Communicator& processes, Device device) {
    TrainConfig own = config;
    own.run.device = device;
    Notices notices;
    const Datasets data = tiny_data();
    auto model = start_model(own, data, notices);
    Trainer trainer = make_trainer(own, data, std::move(model), nullptr, processes);
    CHECK_FALSE(trainer.fit());
    bits[processes.rank()] = bits_of(trainer);
  });
  for (const Bits& own : bits) CHECK(own == bits.front());
  return bits.front();
}

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

/// What two ranks receive whose ops make a 2 of a 1, with or without waiting for them.
std::set<double> received(bool waits) {
  std::set<double> all;
  std::mutex mutex;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    use_seed(seed);
    in_ranks(2, Way::nccl, [&](Communicator& processes, Device device) {
      const Tensor x = floats(device, 8), y = floats(device, 8), one = floats(device, 8);
      const ExchangeQueue queue(device);
      swap(processes, x, y);  // joins
      Queues::instance().pace = fake::Pace::late;
      add_into(x, one);
      if (waits) queue.wait_for_ops();
      {
        const ExchangeQueue::Scope scope(queue);
        swap(processes, x, y);
      }
      queue.hold_ops();
      const std::lock_guard lock(mutex);
      all.insert(y.at(7));
    });
    Queues::instance().pace = fake::Pace::drawn;
  }
  return all;
}

}  // namespace

TEST_CASE("sums over shards on devices have the bits of the sum on the CPU") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t length : {1, 3, 1000}) {
      TreeSum tree;
      for (std::int64_t shard = 0; shard < kShards; ++shard) {
        tree.add({0, shard, values_of(shard, length, dtype)});
      }
      const Tensor sum = sum_over_shards(alone(), {kShards, 0, kShards}, tree);
      const std::vector<double> expected =
          ops::add(sum, full({length}, 7, sum.options())).to_vector();
      for (int ranks = 1; ranks <= kRanks; ++ranks) {
        for (const Way way : {Way::host_memory, Way::nccl}) {
          use_seed(static_cast<std::uint64_t>(ranks));
          CHECK(summed(ranks, way, length, dtype) == expected);
        }
      }
    }
  }
  CHECK(take_findings().empty());
}

TEST_CASE("training in eight shards has the same bits on one to four devices") {
  const Bits expected = trained(1, Way::nccl);
  for (int ranks = 2; ranks <= kRanks; ++ranks) {
    for (const Way way : {Way::host_memory, Way::nccl}) {
      use_seed(static_cast<std::uint64_t>(ranks));
      CHECK(trained(ranks, way) == expected);
    }
  }
  CHECK(take_findings().empty());
}

TEST_CASE("an all-reduce has the same bits on all ranks") {
  for (const Way way : {Way::host_memory, Way::nccl}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (int ranks = 1; ranks <= kRanks; ++ranks) {
        std::vector<std::vector<double>> sums(static_cast<std::size_t>(ranks));
        in_ranks(ranks, way, [&](Communicator& processes, Device device) {
          const Tensor x = values_of(processes.rank(), 1000, dtype).to(device);
          processes.all_reduce_on_device(x);
          sums[processes.rank()] = x.to_vector();
        });
        for (const std::vector<double>& sum : sums) CHECK(sum == sums.front());
        double expected = 0;
        for (int rank = 0; rank < ranks; ++rank) expected += values_of(rank, 1000, dtype).at(999);
        CHECK(sums.front().back() == doctest::Approx(expected).epsilon(1e-6));
      }
    }
  }
  CHECK(take_findings().empty());
}

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
  CHECK(received(true) == std::set<double>{2});
  CHECK(received(false).contains(1));
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
