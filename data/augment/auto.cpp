// AutoAugment's learned policies, and 3-Augment.
#include <span>
#include <utility>

#include "data/augment/policy.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/names.h"

namespace fovea {
namespace {

using K = AugmentKind;
using OpPair = std::array<AugmentOp, 2>;

/// The ImageNet policy of Cubuk et al. 2019, table 9. Posterize keeps more bits at higher levels.
constexpr auto kOriginal = std::to_array<OpPair>({
    {{{K::posterize_original, 0.4, 8}, {K::rotate, 0.6, 9}}},
    {{{K::solarize, 0.6, 5}, {K::auto_contrast, 0.6, 5}}},
    {{{K::equalize, 0.8, 8}, {K::equalize, 0.6, 3}}},
    {{{K::posterize_original, 0.6, 7}, {K::posterize_original, 0.6, 6}}},
    {{{K::equalize, 0.4, 7}, {K::solarize, 0.2, 4}}},
    {{{K::equalize, 0.4, 4}, {K::rotate, 0.8, 8}}},
    {{{K::solarize, 0.6, 3}, {K::equalize, 0.6, 7}}},
    {{{K::posterize_original, 0.8, 5}, {K::equalize, 1.0, 2}}},
    {{{K::rotate, 0.2, 3}, {K::solarize, 0.6, 8}}},
    {{{K::equalize, 0.6, 8}, {K::posterize_original, 0.4, 6}}},
    {{{K::rotate, 0.8, 8}, {K::color, 0.4, 0}}},
    {{{K::rotate, 0.4, 9}, {K::equalize, 0.6, 2}}},
    {{{K::equalize, 0.0, 7}, {K::equalize, 0.8, 8}}},
    {{{K::invert, 0.6, 4}, {K::equalize, 1.0, 8}}},
    {{{K::color, 0.6, 4}, {K::contrast, 1.0, 8}}},
    {{{K::rotate, 0.8, 8}, {K::color, 1.0, 2}}},
    {{{K::color, 0.8, 8}, {K::solarize, 0.8, 7}}},
    {{{K::sharpness, 0.4, 7}, {K::invert, 0.6, 8}}},
    {{{K::shear_x, 0.6, 5}, {K::equalize, 1.0, 9}}},
    {{{K::color, 0.4, 0}, {K::equalize, 0.6, 3}}},
    {{{K::equalize, 0.4, 7}, {K::solarize, 0.2, 4}}},
    {{{K::solarize, 0.6, 5}, {K::auto_contrast, 0.6, 5}}},
    {{{K::invert, 0.6, 4}, {K::equalize, 1.0, 8}}},
    {{{K::color, 0.6, 4}, {K::contrast, 1.0, 8}}},
    {{{K::equalize, 0.8, 8}, {K::equalize, 0.6, 3}}},
});

/// The policy of EfficientNet's code; not in a paper.
constexpr auto kV0 = std::to_array<OpPair>({
    {{{K::equalize, 0.8, 1}, {K::shear_y, 0.8, 4}}},
    {{{K::color, 0.4, 9}, {K::equalize, 0.6, 3}}},
    {{{K::color, 0.4, 1}, {K::rotate, 0.6, 8}}},
    {{{K::solarize, 0.8, 3}, {K::equalize, 0.4, 7}}},
    {{{K::solarize, 0.4, 2}, {K::solarize, 0.6, 2}}},
    {{{K::color, 0.2, 0}, {K::equalize, 0.8, 8}}},
    {{{K::equalize, 0.4, 8}, {K::solarize_add, 0.8, 3}}},
    {{{K::shear_x, 0.2, 9}, {K::rotate, 0.6, 8}}},
    {{{K::color, 0.6, 1}, {K::equalize, 1.0, 2}}},
    {{{K::invert, 0.4, 9}, {K::rotate, 0.6, 0}}},
    {{{K::equalize, 1.0, 9}, {K::shear_y, 0.6, 3}}},
    {{{K::color, 0.4, 7}, {K::equalize, 0.6, 0}}},
    {{{K::posterize, 0.4, 6}, {K::auto_contrast, 0.4, 7}}},
    {{{K::solarize, 0.6, 8}, {K::color, 0.6, 9}}},
    {{{K::solarize, 0.2, 4}, {K::rotate, 0.8, 9}}},
    {{{K::rotate, 1.0, 7}, {K::translate_y_rel, 0.8, 9}}},
    {{{K::shear_x, 0.0, 0}, {K::solarize, 0.8, 4}}},
    {{{K::shear_y, 0.8, 0}, {K::color, 0.6, 4}}},
    {{{K::color, 1.0, 0}, {K::rotate, 0.6, 2}}},
    {{{K::equalize, 0.8, 4}, {K::equalize, 0.0, 8}}},
    {{{K::equalize, 1.0, 4}, {K::auto_contrast, 0.6, 2}}},
    {{{K::shear_y, 0.4, 7}, {K::solarize_add, 0.6, 7}}},
    {{{K::posterize, 0.8, 2}, {K::solarize, 0.6, 10}}},
    {{{K::solarize, 0.6, 8}, {K::equalize, 0.6, 1}}},
    {{{K::color, 0.8, 6}, {K::rotate, 0.4, 5}}},
});

using Sequences = std::vector<std::vector<AugmentOp>>;

Sequences sequences_of(std::span<const OpPair> pairs) {
  Sequences sequences;
  for (const OpPair& pair : pairs) sequences.emplace_back(pair.begin(), pair.end());
  return sequences;
}

/// Replaces Posterize by that of Google's later code: fewer bits at higher levels ("r").
Sequences with_increasing_posterize(Sequences sequences) {
  for (std::vector<AugmentOp>& sequence : sequences)
    for (AugmentOp& op : sequence)
      if (op.kind == K::posterize || op.kind == K::posterize_original)
        op.kind = K::posterize_increasing;
  return sequences;
}

/// The three operations of DeiT III: solarize with threshold 128, grayscale, blur of radius U(0.1,
/// 2).
Sequences three_augment() {
  return {{{K::solarize, 1, 5}}, {{K::desaturate, 1, 10}}, {{K::gaussian_blur_rand, 1, 10}}};
}

}  // namespace

Sample AutoAugment::operator()(Sample sample, Rng& rng) const {
  const auto index = rng.below(static_cast<std::int64_t>(sequences.size()));
  for (const AugmentOp& op : sequences[static_cast<std::size_t>(index)])
    sample = augment(std::move(sample), op, settings, rng);
  return sample;
}

std::vector<std::vector<AugmentOp>> auto_augment_sequences(std::string_view name) {
  if (name == "original") return sequences_of(kOriginal);
  if (name == "originalr") return with_increasing_posterize(sequences_of(kOriginal));
  if (name == "v0") return sequences_of(kV0);
  if (name == "v0r") return with_increasing_posterize(sequences_of(kV0));
  if (name == "3a") return three_augment();
  fail("AutoAugment: got policy \"", name, "\"",
       did_you_mean(name, {"original", "originalr", "v0", "v0r", "3a"}));
}

}  // namespace fovea
