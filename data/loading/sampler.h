// The order of images within an epoch.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea {

/// A position in the endless sequence of batches: all data state that a resume needs.
struct Cursor {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  ///< within the epoch
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// A batch, or one of its shards.
struct BatchPart {
  Cursor cursor;
  std::int64_t shard = 0;
};

/// A permutation of 0 .. size - 1, as a pure function of the arguments.
[[nodiscard]] std::vector<std::int64_t> shuffled_order(std::int64_t size, std::uint64_t seed,
                                                       std::int64_t epoch);
/// A permutation for data that is faster to read sequentially: the parts (of these sizes, in
/// order) are shuffled, and their images pass through a shuffle buffer of `buffer` >= 1 images,
/// from which a random one leaves when the next one enters.
[[nodiscard]] std::vector<std::int64_t> buffered_order(const std::vector<std::int64_t>& parts,
                                                       std::int64_t buffer, std::uint64_t seed,
                                                       std::int64_t epoch);
/// 0 .. size - 1 in order.
[[nodiscard]] std::vector<std::int64_t> sequential_order(std::int64_t size);

/// Number of images in an epoch. With repeated augmentation (Hoffer et al. 2020, in the form of
/// DeiT's RASampler) each image comes `repeats` times in a row and the length of the epoch stays
/// the same, rounded down to a multiple of 256: part of the images is not shown.
[[nodiscard]] std::int64_t epoch_size(std::int64_t size, std::int64_t repeats);
/// Number of batches in an epoch.
[[nodiscard]] std::int64_t batch_count(std::int64_t size, std::int64_t batch_size, bool drop_last);

}  // namespace fovea
