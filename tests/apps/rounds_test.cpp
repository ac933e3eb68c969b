// Work that several processes share: every item once, and rows in the order of ranks.
#include "apps/common/rounds.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/thread_world.h"

namespace fovea {
namespace {

using Numbers = std::vector<std::int64_t>;

/// How many items each of `size` processes has, in one round after the other. Checks that their
/// parts follow each other.
std::vector<Numbers> parts_of(int size, std::int64_t items, std::int64_t batch,
                              std::int64_t least_of_first = 1) {
  std::vector<std::vector<Round>> all(static_cast<std::size_t>(size));
  test::in_threads(size, [&](Communicator& processes) {
    const Rounds rounds{items, batch, processes, least_of_first};
    auto& mine = all[static_cast<std::size_t>(processes.rank())];
    for (std::int64_t done = 0; done < items; done = mine.back().end) {
      mine.push_back(rounds.from(done));
    }
  });
  std::vector<Numbers> parts;
  std::int64_t next = 0;
  for (std::size_t round = 0; round < all.front().size(); ++round) {
    Numbers& part = parts.emplace_back();
    CHECK(all.front()[round].first == next);
    for (const std::vector<Round>& of_process : all) {
      CHECK(of_process[round].own_first == next);
      next = of_process[round].own_end;
      part.push_back(of_process[round].own());
    }
    CHECK(all.front()[round].end == next);
  }
  CHECK(next == items);
  return parts;
}

}  // namespace

TEST_CASE("each process takes a batch of a round, and of the last items an equal part") {
  CHECK(parts_of(1, 7, 3) == std::vector<Numbers>{{3}, {3}, {1}});
  CHECK(parts_of(2, 7, 3) == std::vector<Numbers>{{3, 3}, {1, 0}});
  CHECK(parts_of(3, 8, 16) == std::vector<Numbers>{{3, 3, 2}});
  CHECK(parts_of(4, 2, 1) == std::vector<Numbers>{{1, 0, 1, 0}});
}

TEST_CASE("the first process has always an item, and as many as it must have") {
  for (std::int64_t items = 1; items < 20; ++items) {
    for (const Numbers& part : parts_of(3, items, 4)) CHECK(part.front() > 0);
  }
  CHECK(parts_of(3, 12, 16, 8) == std::vector<Numbers>{{8, 0, 4}});
  CHECK(parts_of(3, 5, 16, 8) == std::vector<Numbers>{{5, 0, 0}});
  CHECK(parts_of(2, 5, 2, 8) == std::vector<Numbers>{{2, 2}, {1, 0}});
}

TEST_CASE("the first process gets the rows of all in the order of ranks, also of those without") {
  for (const int size : {1, 2, 4}) {
    test::in_threads(size, [&](Communicator& processes) {
      const std::int64_t rank = processes.rank(), rows = rank == 2 ? 0 : rank + 1;
      const Tensor mine = full({rows, 2, 3}, static_cast<double>(rank), {DType::f32, {}});
      const Tensor all = gather_rows(processes, mine);
      if (!processes.is_first()) return;
      std::vector<double> expected;
      for (int other = 0; other < size; ++other) {
        const std::int64_t theirs = other == 2 ? 0 : other + 1;
        expected.insert(expected.end(), static_cast<std::size_t>(6 * theirs), other);
      }
      CHECK(all.to_vector() == expected);
    });
  }
}

TEST_CASE("rows of numbers keep their bits") {
  test::in_threads(2, [](Communicator& processes) {
    const Tensor mine = empty({1}, {DType::i64, {}});
    *mine.data<std::int64_t>() = (std::int64_t{1} << 60) + processes.rank();
    const Tensor all = gather_rows(processes, mine);
    if (processes.is_first()) CHECK(all.data<std::int64_t>()[1] == (std::int64_t{1} << 60) + 1);
  });
}

}  // namespace fovea
