// Ranks with a fake device each: sums and training steps through NCCL and through host memory.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/comm/exchange_queue.h"
#include "engine/comm/tree_sum.h"
#include "engine/copy.h"
#include "engine/random.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/cuda/fake/queues.h"
#include "tests/cuda/ranks.h"
#include "tests/cuda/seeds.h"
#include "tests/support/tiny_run.h"
#include "train/loop/gradient_buckets.h"

using namespace fovea;
using fake::Queues;
using tests::in_ranks;
using tests::kRanks;
using tests::take_findings;
using tests::use_seed;
using tests::Way;

namespace {

constexpr std::int64_t kShards = 8;

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
    const ExchangeQueue::Ready ready = queue.after_ops();
    Tensor sum;
    {
      const ExchangeQueue::Scope scope(queue, ready);
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
  const Bits first = bits.front();
  for (Bits& own : bits) {
    own["fingerprints"] = first.at("fingerprints");  // which the first process alone computes
    CHECK(own == first);
  }
  return first;
}

/// Gradients of three parameters, which a rank writes shard by shard and sends in small buckets as
/// soon as they are complete.
std::vector<double> bucket_sums(int ranks, Way way, Summing summing) {
  std::vector<std::vector<double>> results(static_cast<std::size_t>(ranks));
  in_ranks(ranks, way, [&](Communicator& processes, Device device) {
    const std::int64_t count = summing == Summing::tree ? kShards : ranks;
    const Shards own = shards_of(count, processes.rank(), processes.size());
    std::vector<Tensor> parameters;
    for (const std::int64_t length : {5, 300, 40}) {
      parameters.push_back(zeros({length}, {DType::f32, device}).set_requires_grad());
    }
    GradientBuckets buckets(parameters, processes, own, summing, {}, /*bytes=*/64);
    const auto gradient = [&](std::size_t i, std::int64_t shard) {
      const Tensor x = values_of(shard, parameters[i].numel(), DType::f32).to(device);
      return ops::mul(x, x);
    };
    for (int step = 0; step < 2; ++step) {
      buckets.begin();
      for (std::int64_t shard = own.first; shard < own.end; ++shard) {
        for (std::size_t i = parameters.size(); i-- > 0;) {
          parameters[i].set_grad(gradient(i, shard));
          if (shard + 1 == own.end) buckets.complete(parameters[i]);
        }
        shard + 1 == own.end ? buckets.take_last() : buckets.take(shard);
        for (const Tensor& parameter : parameters) parameter.set_grad({});
      }
      buckets.finish();
    }
    for (const Tensor& parameter : parameters) {
      for (const double value : parameter.grad().to_vector()) {
        results[processes.rank()].push_back(value);
      }
    }
  });
  for (const auto& result : results) CHECK(result == results.front());
  return results.front();
}

}  // namespace

TEST_CASE("sums over shards on devices have the bits of the sum on the CPU") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t length : {1, 3, 1000}) {
      TreeSum tree;
      for (std::int64_t shard = 0; shard < kShards; ++shard) {
        tree.add({0, shard, values_of(shard, length, dtype)});
      }
      const Tensor sum = sum_over_shards(single_process(), {kShards, 0, kShards}, tree);
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

TEST_CASE("buckets of gradients wait for the ops that write them") {
  const std::vector<double> expected = bucket_sums(1, Way::nccl, Summing::tree);
  Queues& queues = Queues::instance();
  for (int device = 0; device < kRanks; ++device) {
    queues.delayed.insert(static_cast<cudaStream_t>(cuda::Stream::compute(device).handle()));
  }
  for (const fake::Pace pace : {fake::Pace::drawn, fake::Pace::late}) {
    queues.pace = pace;
    for (int ranks = 2; ranks <= kRanks; ++ranks) {
      for (const Way way : {Way::host_memory, Way::nccl}) {
        CHECK(bucket_sums(ranks, way, Summing::tree) == expected);
        CHECK(bucket_sums(ranks, way, Summing::all_reduce).size() == expected.size());
      }
    }
  }
  queues.pace = fake::Pace::drawn;
  queues.delayed.clear();
  CHECK(take_findings().empty());
}
