// The shards of a step: parts of its batches that are computed on their own, so that a step's
// result does not depend on the number of processes.
#pragma once

#include <cstdint>

namespace fovea {

/// The shards [first, end) of a process, of `count` in all.
struct Shards {
  std::int64_t count = 1, first = 0, end = 1;

  [[nodiscard]] std::int64_t mine() const { return end - first; }
  friend bool operator==(const Shards&, const Shards&) = default;
};

/// Who adds up the shards.
enum class Summing {
  tree,        ///< we do, along the tree: the same bits for any number of processes
  all_reduce,  ///< the communicator's own all-reduce, with one shard per process
};

/// The first of `whole` items that belongs to part `part` of `parts`: consecutive ranges whose
/// sizes differ by at most one.
[[nodiscard]] constexpr std::int64_t part_begin(std::int64_t whole, std::int64_t part,
                                                std::int64_t parts) {
  return whole * part / parts;
}

/// The shards of one of `size` processes, at least one each.
[[nodiscard]] constexpr Shards shards_of(std::int64_t count, std::int64_t rank, std::int64_t size) {
  return {count, part_begin(count, rank, size), part_begin(count, rank + 1, size)};
}

}  // namespace fovea
