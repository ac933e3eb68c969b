// Image orders of an epoch: shuffled, buffered, sequential.
#include "data/loading/sampler.h"

#include <numeric>
#include <utility>

#include "engine/base/error.h"
#include "engine/rng.h"

namespace fovea {

std::vector<std::int64_t> sequential_order(std::int64_t size) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

std::vector<std::int64_t> shuffled_order(std::int64_t size, std::uint64_t seed,
                                         std::int64_t epoch) {
  constexpr std::uint64_t stream = 0x6F72646572;  // "order"
  Rng rng(seed, stream_of(stream, static_cast<std::uint64_t>(epoch)));
  std::vector<std::int64_t> order = sequential_order(size);
  for (std::int64_t last = size - 1; last > 0; --last)  // Fisher-Yates
    std::swap(order[last], order[rng.below(last + 1)]);
  return order;
}

std::vector<std::int64_t> buffered_order(const std::vector<std::int64_t>& parts,
                                         std::int64_t buffer, std::uint64_t seed,
                                         std::int64_t epoch) {
  check(buffer >= 1, "buffered_order: got a buffer of ", buffer, ", expected 1 or more");
  constexpr std::uint64_t stream = 0x627566666572;  // "buffer"
  Rng rng(seed, stream_of(stream, static_cast<std::uint64_t>(epoch)));
  std::vector<std::int64_t> begins(parts.size());
  std::exclusive_scan(parts.begin(), parts.end(), begins.begin(), std::int64_t{0});

  std::vector<std::int64_t> order, held;
  const auto leave = [&](std::int64_t place) { order.push_back(held[place]); };
  const auto part_count = static_cast<std::int64_t>(parts.size());
  for (const std::int64_t part : shuffled_order(part_count, seed, epoch)) {
    for (std::int64_t image = begins[part]; image < begins[part] + parts[part]; ++image) {
      if (static_cast<std::int64_t>(held.size()) < buffer) {
        held.push_back(image);
        continue;
      }
      const std::int64_t place = rng.below(buffer);
      leave(place);
      held[place] = image;
    }
  }
  while (!held.empty()) {
    const std::int64_t place = rng.below(static_cast<std::int64_t>(held.size()));
    leave(place);
    held[place] = held.back();
    held.pop_back();
  }
  return order;
}

std::int64_t epoch_size(std::int64_t size, std::int64_t repeats) {
  constexpr std::int64_t round = 256;
  return repeats <= 1 || size < round ? size : size / round * round;
}

std::int64_t batch_count(std::int64_t size, std::int64_t batch_size, bool drop_last) {
  return drop_last ? size / batch_size : (size + batch_size - 1) / batch_size;
}

}  // namespace fovea
