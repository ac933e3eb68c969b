// Parts of rounds, and the messages that bring their results together.
#include "apps/common/rounds.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "engine/comm/shards.h"

namespace fovea {
namespace {

/// The memory of each row: a message each, as MPI limits the size of one.
std::vector<std::span<std::byte>> rows_of(const Tensor& tensor) {
  std::vector<std::span<std::byte>> rows(static_cast<std::size_t>(tensor.size(0)));
  if (rows.empty()) return rows;
  const std::size_t bytes = static_cast<std::size_t>(tensor.byte_count()) / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {tensor.raw() + i * bytes, bytes};
  return rows;
}

/// The number of rows of each process's tensor.
std::vector<std::int64_t> row_counts(Communicator& processes, const Tensor& mine) {
  const auto own = static_cast<double>(mine.size(0));
  std::vector<std::int64_t> counts;
  for (const std::vector<double>& theirs : all_gather(processes, std::span(&own, 1))) {
    counts.push_back(static_cast<std::int64_t>(theirs.front()));
  }
  return counts;
}

}  // namespace

Round Rounds::from(std::int64_t first) const {
  const std::int64_t size = processes.size(), count = std::min(size * batch, items - first);
  const auto begin_of = [&](std::int64_t rank) {
    if (rank == 0) return first;
    // Counted from the end, so that no part is larger than the first process's.
    const std::int64_t equal = count - part_begin(count, size - rank, size);
    return first + std::max(equal, std::min({least_of_first, batch, count}));
  };
  return {first, first + count, begin_of(processes.rank()), begin_of(processes.rank() + 1)};
}

Tensor gather_rows(Communicator& processes, const Tensor& mine) {
  if (processes.size() == 1) return mine;
  const std::vector<std::int64_t> counts = row_counts(processes, mine);
  if (!processes.is_first()) {
    std::vector<Outgoing> out;
    for (const std::span<std::byte> row : rows_of(mine)) out.push_back({0, row});
    processes.exchange(out, {});
    return mine;
  }
  Shape shape = mine.shape();
  shape[0] = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const Tensor all = empty(shape, mine.options());
  const std::vector<std::span<std::byte>> rows = rows_of(all), own = rows_of(mine);
  for (std::size_t i = 0; i < own.size(); ++i) std::ranges::copy(own[i], rows[i].begin());
  std::vector<Incoming> in;
  auto next = static_cast<std::size_t>(mine.size(0));
  for (int rank = 1; rank < processes.size(); ++rank) {
    for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(rank)]; ++i) {
      in.push_back({rank, rows[next++]});
    }
  }
  processes.exchange({}, in);
  return all;
}

}  // namespace fovea
