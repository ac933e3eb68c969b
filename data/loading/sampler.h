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
/// A permutation that reads in order where that is faster: the parts (of these sizes, one after
/// another) come in random order, and their images pass through a buffer of which a random one
/// leaves when the next comes in. buffer >= 1.
[[nodiscard]] std::vector<std::int64_t> buffered_order(const std::vector<std::int64_t>& parts,
                                                       std::int64_t buffer, std::uint64_t seed,
                                                       std::int64_t epoch);
/// 0 .. size - 1.
[[nodiscard]] std::vector<std::int64_t> sequential_order(std::int64_t size);

/// How many images an epoch shows. With repeats (repeated augmentation, Hoffer et al. 2020, in the
/// form of DeiT's RASampler) each one comes `repeats` times in a row and the epoch stays as long as
/// before, rounded down to a multiple of 256: a part of the images is not shown.
[[nodiscard]] std::int64_t epoch_size(std::int64_t size, std::int64_t repeats);
/// How many batches an epoch has.
[[nodiscard]] std::int64_t batch_count(std::int64_t size, std::int64_t batch_size, bool drop_last);

}  // namespace fovea
