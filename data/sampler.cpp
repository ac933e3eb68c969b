// Orders of an epoch.
#include "data/sampler.h"

#include <numeric>
#include <utility>

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

std::int64_t batch_count(std::int64_t size, std::int64_t batch_size, bool drop_last) {
  return drop_last ? size / batch_size : (size + batch_size - 1) / batch_size;
}

}  // namespace fovea
