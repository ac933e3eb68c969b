// Sums over shards have the same bits for any number of processes.
#include "engine/comm/tree_sum.h"
#include "engine/rng.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>

#include "tests/support/thread_world.h"

namespace fovea {
namespace {

/// Values whose sums depend on the order of addition.
Tensor values_of(std::int64_t shard, std::int64_t length, DType dtype) {
  Tensor values = empty({length}, {dtype, {}});
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < length; ++i) {
    const RandomKey key{static_cast<std::uint64_t>(shard), static_cast<std::uint64_t>(i)};
    Rng rng(key.seed, key.stream);
    numbers.push_back((rng.uniform() - 0.5) * std::pow(10.0, static_cast<double>(rng.below(7))));
  }
  return from_values({length}, numbers, {dtype, {}});
}

std::vector<double> summed(int processes, std::int64_t shards, std::int64_t length, DType dtype) {
  std::vector<std::vector<double>> results(static_cast<std::size_t>(processes));
  test::in_threads(processes, [&](Communicator& process) {
    const Shards own = shards_of(shards, process.rank(), process.size());
    TreeSum local;
    for (std::int64_t shard = own.first; shard < own.end; ++shard)
      local.add({0, shard, values_of(shard, length, dtype)});
    results[process.rank()] = sum_over_shards(process, own, local).to_vector();
  });
  for (const auto& result : results) CHECK(result == results.front());
  return results.front();
}

TEST_CASE("a sum over shards has the same bits for any number of processes") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t shards : {2, 8, 16}) {
      for (const std::int64_t length : {1, 7, 1000}) {
        const std::vector<double> expected = summed(1, shards, length, dtype);
        for (int processes = 2; processes <= shards && processes <= 9; ++processes)
          CHECK(summed(processes, shards, length, dtype) == expected);
      }
    }
  }
}

TEST_CASE("a sum over shards follows the binary tree") {
  const auto add = [](double a, double b) {
    return static_cast<double>(static_cast<float>(a) + static_cast<float>(b));
  };
  const std::vector<double> found = summed(3, 4, 9, DType::f32);
  int unlike_line = 0;
  for (std::int64_t i = 0; i < 9; ++i) {
    const auto at = [&](std::int64_t shard) { return values_of(shard, 9, DType::f32).at(i); };
    CHECK(found[i] == add(add(at(0), at(1)), add(at(2), at(3))));
    unlike_line += add(add(add(at(0), at(1)), at(2)), at(3)) != found[i] ? 1 : 0;
  }
  CHECK(unlike_line > 0);  // else this test could not fail
}

TEST_CASE("a process's shards are the largest subtrees in their range") {
  const auto places = [](std::int64_t first, std::int64_t end) {
    std::vector<std::pair<int, std::int64_t>> found;
    for (const TreeNode& piece : pieces_of({16, first, end}))
      found.emplace_back(piece.level, piece.index);
    return found;
  };
  using Places = std::vector<std::pair<int, std::int64_t>>;
  CHECK(places(0, 16) == Places{{4, 0}});
  CHECK(places(3, 5) == Places{{0, 3}, {0, 4}});
  CHECK(places(5, 16) == Places{{0, 5}, {1, 3}, {3, 1}});
}

/// What the process that sends most sends for a sum over 8 shards, as a multiple of the vector.
double largest_share(int processes) {
  constexpr std::int64_t length = 840;  // divisible by each number of processes
  std::vector<double> shares(static_cast<std::size_t>(processes));
  test::in_threads(processes, [&](Communicator& process) {
    const Shards own = shards_of(8, process.rank(), process.size());
    TreeSum local;
    for (std::int64_t shard = own.first; shard < own.end; ++shard)
      local.add({0, shard, values_of(shard, length, DType::f32)});
    static_cast<void>(sum_over_shards(process, own, local));
    shares[process.rank()] = static_cast<double>(test::bytes_sent(process)) / (4.0 * length);
  });
  return *std::max_element(shares.begin(), shares.end());
}

TEST_CASE("powers of two of processes send 2 (P - 1) / P of the vector; others may send more") {
  for (const int processes : {2, 4, 8})
    CHECK(largest_share(processes) == doctest::Approx(2.0 * (processes - 1) / processes));
  for (const auto& [processes, share] : {std::pair{3, 2.0}, {5, 2.4}, {6, 10.0 / 6}, {7, 12.0 / 7}})
    CHECK(largest_share(processes) == doctest::Approx(share));
}

}  // namespace
}  // namespace fovea
