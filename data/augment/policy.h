// Automatic augmentation: AutoAugment (Cubuk et al. 2019), RandAugment (2020), AugMix (Hendrycks
// et al. 2020), TrivialAugment (Mueller and Hutter 2021) and 3-Augment (Touvron et al. 2022),
// named and computed as in timm.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/augment/op.h"

namespace fovea {

/// Applies `layers` operations from a set, one after another.
struct RandAugment {
  std::vector<AugmentKind> kinds;
  /// The weights of the draws, which then do not repeat; empty: uniform, with repetition.
  std::vector<double> weights{};
  std::int64_t layers = 2;
  double probability = 0.5;  ///< probability of applying each operation
  double magnitude = 10;
  AugmentSettings settings;

  [[nodiscard]] Sample operator()(Sample sample, Rng& rng) const;
  /// Draws the operations for one image, before deciding whether to apply each.
  [[nodiscard]] std::vector<AugmentKind> draw_kinds(Rng& rng) const;
};

/// A choice among sequences of operations with individual probabilities and magnitudes.
struct AutoAugment {
  std::vector<std::vector<AugmentOp>> sequences;
  AugmentSettings settings;

  [[nodiscard]] Sample operator()(Sample sample, Rng& rng) const;
};

/// `width` chains of operations, mixed with Dirichlet weights, and mixed with the image by a Beta
/// weight.
struct AugMix {
  std::vector<AugmentKind> kinds;
  double magnitude = 3;
  std::int64_t width = 3;
  std::int64_t depth = -1;  ///< operations per chain; -1: 1 to 3, drawn for each
  double alpha = 1;         ///< parameter of both distributions
  bool blended = false;     ///< whether each chain is blended into the result at once
  AugmentSettings settings;

  /// Throws for a sample with targets: in the views that are mixed they are at different
  /// positions.
  [[nodiscard]] Sample operator()(Sample sample, Rng& rng) const;
};

/// One operation of uniformly drawn strength, in the wide ranges ("TA (Wide)").
struct TrivialAugment {
  AugmentSettings settings;

  [[nodiscard]] Sample operator()(Sample sample, Rng& rng) const;
  struct Draw {
    AugmentKind kind{};
    double argument = 0;
  };
  [[nodiscard]] static Draw draw(Rng& rng);
};

using AugmentPolicy = std::variant<RandAugment, AutoAugment, AugMix, TrivialAugment>;

/// Parses timm's strings: parts joined by "-", each with a key and a value.
///   rand-mM-nN-pP-mstdS-mmaxX-incB-tSET   sets: weights, 3a, 3aw
///   original, originalr, v0, v0r, 3a      with -mstdS
///   augmix-mM-wW-dD-aA-bB-mstdS
///   ta_wide
/// `settings` supplies values that the string omits. Throws Error, naming the part, on an unknown
/// part, a value out of range, or a duplicate key.
[[nodiscard]] AugmentPolicy parse_augment_policy(std::string_view text, AugmentSettings settings);

[[nodiscard]] Sample apply(const AugmentPolicy& policy, Sample sample, Rng& rng);

/// The sequences of "original", "originalr", "v0", "v0r" or "3a". Throws on any other name.
[[nodiscard]] std::vector<std::vector<AugmentOp>> auto_augment_sequences(std::string_view name);

}  // namespace fovea
