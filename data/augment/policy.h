// Automatic augmentation: AutoAugment (Cubuk et al. 2019), RandAugment (2020), AugMix (Hendrycks et
// al. 2020), TrivialAugment (Mueller and Hutter 2021) and 3-Augment (Touvron et al. 2022), as timm
// names and computes them.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/augment/op.h"

namespace fovea {

/// `layers` operations out of a set, one after another.
struct RandAugment {
  std::vector<AugmentKind> kinds;
  std::vector<double>
      weights{};  ///< of the draws, which then never repeat; empty: equal, may repeat
  std::int64_t layers = 2;
  double probability = 0.5;  ///< of applying each
  double magnitude = 10;
  AugmentSettings settings;

  [[nodiscard]] Sample operator()(Sample sample, Rng& rng) const;
  /// The operations of one image, before each is applied or not.
  [[nodiscard]] std::vector<AugmentKind> draw_kinds(Rng& rng) const;
};

/// One of several sequences of operations, each with its own probabilities and magnitudes.
struct AutoAugment {
  std::vector<std::vector<AugmentOp>> sequences;
  AugmentSettings settings;

  [[nodiscard]] Sample operator()(Sample sample, Rng& rng) const;
};

/// `width` chains of operations, mixed with each other by Dirichlet and with the image by Beta
/// weights.
struct AugMix {
  std::vector<AugmentKind> kinds;
  double magnitude = 3;
  std::int64_t width = 3;
  std::int64_t depth = -1;  ///< operations of a chain; -1: 1 to 3, drawn for each
  double alpha = 1;         ///< of both distributions
  bool blended = false;     ///< blend each chain into the result at once
  AugmentSettings settings;

  /// Throws for a sample in whose image something lies: the views that are mixed have it at
  /// different places.
  [[nodiscard]] Sample operator()(Sample sample, Rng& rng) const;
};

/// One operation of uniform strength, in the wide ranges ("TA (Wide)").
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

/// Parses timm's strings: parts joined by "-", each a key and a value.
///   rand-mM-nN-pP-mstdS-mmaxX-incB-tSET   sets: weights, 3a, 3aw
///   original, originalr, v0, v0r, 3a      with -mstdS
///   augmix-mM-wW-dD-aA-bB-mstdS
///   ta_wide
/// `settings` gives what the string does not say. Throws Error, naming the part that is not
/// understood, a value out of range, or a key said twice.
[[nodiscard]] AugmentPolicy parse_augment_policy(std::string_view text, AugmentSettings settings);

[[nodiscard]] Sample apply(const AugmentPolicy& policy, Sample sample, Rng& rng);

/// The sequences of "original", "originalr", "v0", "v0r" or "3a". Throws on another name.
[[nodiscard]] std::vector<std::vector<AugmentOp>> auto_augment_sequences(std::string_view name);

}  // namespace fovea
