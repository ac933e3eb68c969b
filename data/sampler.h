// In which order an epoch shows a data set.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea {

/// A place in the endless row of batches. All that a resume needs of the data.
struct Cursor {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  ///< within the epoch
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// A permutation of 0 .. size - 1: a pure function of its arguments.
[[nodiscard]] std::vector<std::int64_t> shuffled_order(std::int64_t size, std::uint64_t seed,
                                                       std::int64_t epoch);
/// 0 .. size - 1.
[[nodiscard]] std::vector<std::int64_t> sequential_order(std::int64_t size);

/// How many batches an epoch has.
[[nodiscard]] std::int64_t batch_count(std::int64_t size, std::int64_t batch_size, bool drop_last);

}  // namespace fovea
