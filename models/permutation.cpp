// Random drawing of disjoint swaps of nearby pixels.
#include "models/permutation.h"

#include <cstdlib>
#include <numeric>
#include <optional>

#include "engine/rng.h"

namespace fovea {
namespace {

/// Set of unused positions with removal in constant time.
class Pool {
 public:
  explicit Pool(std::int64_t n) : items_(static_cast<std::size_t>(n)), place_(items_.size()) {
    std::iota(items_.begin(), items_.end(), 0);
    std::iota(place_.begin(), place_.end(), std::size_t{0});
  }
  [[nodiscard]] const std::vector<std::int64_t>& items() const { return items_; }
  [[nodiscard]] bool contains(std::int64_t position) const {
    const std::size_t at = place_[static_cast<std::size_t>(position)];
    return at < items_.size() && items_[at] == position;
  }
  void remove(std::int64_t position) {
    if (!contains(position)) return;
    const std::size_t at = place_[static_cast<std::size_t>(position)];
    items_[at] = items_.back();
    place_[static_cast<std::size_t>(items_[at])] = at;
    items_.pop_back();
  }

 private:
  std::vector<std::int64_t> items_;
  std::vector<std::size_t> place_;
};

std::int64_t pick(const std::vector<std::int64_t>& from, Rng& rng) {
  return from[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(from.size())))];
}

/// All positions within the configured distance of `a`, without `a` itself.
std::vector<std::int64_t> neighbours(const PermutationConfig& c, std::int64_t a) {
  const auto [height, width] = c.img_size;
  const std::int64_t y = a / width, x = a % width, delta = *c.delta;
  std::vector<std::int64_t> found;
  for (std::int64_t dy = -delta; dy <= delta; ++dy) {
    const std::int64_t reach = delta - std::abs(dy);
    if (y + dy < 0 || y + dy >= height) continue;
    for (std::int64_t dx = -reach; dx <= reach; ++dx) {
      const bool inside = x + dx >= 0 && x + dx < width && (dy != 0 || dx != 0);
      if (inside) found.push_back((y + dy) * width + x + dx);
    }
  }
  return found;
}

/// Draws a position other than `a` within `delta` of it, uniformly. Empty after several attempts
/// that fell outside the image or on a position that is not `wanted`.
template <class Wanted>
std::optional<std::int64_t> try_near(const PermutationConfig& c, std::int64_t a, Rng& rng,
                                     const Wanted& wanted) {
  constexpr int kAttempts = 64;
  const auto [height, width] = c.img_size;
  const std::int64_t delta = *c.delta, side = 2 * delta + 1;
  for (int i = 0; i < kAttempts; ++i) {
    const std::int64_t dy = rng.below(side) - delta, dx = rng.below(side) - delta;
    const std::int64_t y = a / width + dy, x = a % width + dx, b = y * width + x;
    const bool near = std::abs(dy) + std::abs(dx) <= delta && b != a;
    if (near && y >= 0 && y < height && x >= 0 && x < width && wanted(b)) return b;
  }
  return {};
}

std::int64_t distance(const PermutationConfig& c, std::int64_t a, std::int64_t b) {
  const std::int64_t width = c.img_size[1];
  return std::abs(a / width - b / width) + std::abs(a % width - b % width);
}

/// Draws a partner for `a`: an unused nearby position, or any nearby one if none is unused. If few
/// are unused, they are searched directly instead of sampled.
std::int64_t partner(const PermutationConfig& c, std::int64_t a, const Pool& unused, Rng& rng) {
  const std::int64_t pixels = c.img_size[0] * c.img_size[1];
  if (!c.delta || *c.delta >= c.img_size[0] + c.img_size[1]) {
    if (!unused.items().empty()) return pick(unused.items(), rng);
    const std::int64_t b = rng.below(pixels - 1);
    return b < a ? b : b + 1;
  }
  const auto by_chance = try_near(c, a, rng, [&](std::int64_t b) { return unused.contains(b); });
  if (by_chance) return *by_chance;
  const bool few_unused = std::ssize(unused.items()) < 2 * *c.delta * (*c.delta + 1);
  std::vector<std::int64_t> free;
  for (const std::int64_t b : few_unused ? unused.items() : neighbours(c, a)) {
    if (unused.contains(b) && distance(c, a, b) <= *c.delta) free.push_back(b);
  }
  if (!free.empty()) return pick(free, rng);
  const auto used = try_near(c, a, rng, [](std::int64_t) { return true; });
  return used ? *used : pick(neighbours(c, a), rng);
}

}  // namespace

Swaps draw_swaps(const PermutationConfig& c) {
  const std::int64_t pixels = c.img_size[0] * c.img_size[1];
  check(pixels >= 2 || c.swaps == 0, "permutation: an image of one pixel has nothing to swap");
  Rng rng(c.seed, stream_of(0x5045524d));
  Pool unused(pixels);
  Swaps swaps;
  for (std::int64_t t = 0; t < c.swaps; ++t) {
    const std::int64_t a = unused.items().empty() ? rng.below(pixels) : pick(unused.items(), rng);
    unused.remove(a);
    const std::int64_t b = partner(c, a, unused, rng);
    unused.remove(b);
    swaps.push_back({a, b});
  }
  return swaps;
}

std::vector<double> apply_swaps(std::int64_t pixels, const Swaps& swaps) {
  std::vector<double> perm(static_cast<std::size_t>(pixels));
  std::iota(perm.begin(), perm.end(), 0.0);
  for (const auto& [a, b] : swaps) {
    check(a >= 0 && a < pixels && b >= 0 && b < pixels, "permutation: swap (", a, ", ", b,
          ") is outside the ", pixels, " pixels");
    std::swap(perm[static_cast<std::size_t>(a)], perm[static_cast<std::size_t>(b)]);
  }
  return perm;
}

Init permutation_of(const PermutationConfig& c) {
  return [c](const Tensor& perm, RandomKey) {
    const std::vector<double> values = apply_swaps(perm.numel(), draw_swaps(c));
    perm.copy_(from_values(perm.shape(), values, {DType::i64, {}}));
  };
}

}  // namespace fovea
