// RandAugment: draws and applies its operations.
#include <algorithm>
#include <numeric>
#include <utility>

#include "data/augment/policy.h"

namespace fovea {
namespace {

/// An index drawn by weight.
std::size_t draw_index(const std::vector<double>& weights, Rng& rng) {
  double left = rng.uniform(0, std::accumulate(weights.begin(), weights.end(), 0.0));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return i;
  }
  // Rounding exhausted the sum: return the last index with a positive weight.
  const auto last = std::find_if(weights.rbegin(), weights.rend(), [](double w) { return w > 0; });
  return static_cast<std::size_t>(weights.rend() - last) - 1;
}

}  // namespace

std::vector<AugmentKind> RandAugment::draw_kinds(Rng& rng) const {
  std::vector<AugmentKind> drawn;
  std::vector<double> left = weights;
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto count = static_cast<std::int64_t>(kinds.size());
    const std::size_t index =
        left.empty() ? static_cast<std::size_t>(rng.below(count)) : draw_index(left, rng);
    if (!left.empty()) left[index] = 0;
    drawn.push_back(kinds[index]);
  }
  return drawn;
}

Sample RandAugment::operator()(Sample sample, Rng& rng) const {
  for (const AugmentKind kind : draw_kinds(rng))
    sample = augment(std::move(sample), {kind, probability, magnitude}, settings, rng);
  return sample;
}

}  // namespace fovea
