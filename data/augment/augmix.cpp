// AugMix: the image mixed with several chains of operations.
#include <algorithm>
#include <utility>

#include "data/augment/color.h"
#include "data/augment/policy.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

/// Positive weights that sum to 1: Dirichlet(alpha, ..., alpha).
std::vector<float> draw_weights(std::int64_t count, double alpha, Rng& rng) {
  std::vector<double> values;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += values.emplace_back(rng.gamma(alpha));
  std::vector<float> weights;
  weights.reserve(values.size());
  for (const double value : values) weights.push_back(static_cast<float>(value / sum));
  return weights;
}

Image run_chain(const AugMix& mix, const Image& image, Rng& rng) {
  Sample chain{image};
  const std::int64_t depth = mix.depth > 0 ? mix.depth : 1 + rng.below(3);
  for (std::int64_t i = 0; i < depth; ++i) {
    const auto index = rng.below(static_cast<std::int64_t>(mix.kinds.size()));
    const AugmentOp op{mix.kinds[static_cast<std::size_t>(index)], 1, mix.magnitude};
    chain = augment(std::move(chain), op, mix.settings, rng);
  }
  return std::move(chain.image);
}

/// The shares for blending in chains one after another such that each ends up with weight * share:
/// alpha_i = w_i / (1 - w_n - ... - w_(i+1)), from the last to the first.
std::vector<float> successive_shares(std::vector<float> weights, float share) {
  float left = 1;
  for (auto w = weights.rbegin(); w != weights.rend(); ++w) {
    *w = *w * share / left;
    left *= 1 - *w;
  }
  return weights;
}

Image mix_blended(const AugMix& mix, const Image& image, const std::vector<float>& shares,
                  Rng& rng) {
  Image result = image;
  for (const float share : shares) result = blend(result, run_chain(mix, image, rng), share);
  return result;
}

/// The sum of w_i chain_i in f32, truncated, then blended with the image.
Image mix_summed(const AugMix& mix, const Image& image, const std::vector<float>& weights,
                 Rng& rng) {
  require_rgb8(image, "augmix");
  std::vector<float> sum(image.pixels.size());
  for (const float weight : weights) {
    const Image chain = run_chain(mix, image, rng);
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += weight * static_cast<float>(chain.pixels[i]);
  }
  Image mixed(image.height, image.width);
  for (std::size_t i = 0; i < sum.size(); ++i)
    mixed.pixels[i] = static_cast<std::uint8_t>(std::clamp(sum[i], 0.0F, 255.0F));
  return mixed;
}

}  // namespace

Sample AugMix::operator()(Sample sample, Rng& rng) const {
  check(sample.targets.empty(), "augmix: got boxes or dense maps, expected images only: the ",
        "mixed views place them differently");
  const Image& image = sample.image;
  const std::vector<float> weights = draw_weights(width, alpha, rng);
  const auto share = static_cast<float>(rng.beta(alpha, alpha));
  sample.image = blended ? mix_blended(*this, image, successive_shares(weights, share), rng)
                         : blend(image, mix_summed(*this, image, weights, rng), share);
  return sample;
}

}  // namespace fovea
