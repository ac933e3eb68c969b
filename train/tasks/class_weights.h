// Weights of classes by their numbers of training images, as timm computes them, for sets in which
// some classes are rare.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/base/names.h"

namespace fovea {

enum class ClassWeighting {
  none,
  inv_freq,       ///< (N / n_k)^exponent
  effective_num,  ///< (1 - beta) / (1 - beta^n_k): Cui et al. 2019, "Class-Balanced Loss"
};
template <>
inline constexpr auto kNames<ClassWeighting> =
    std::to_array<Named<ClassWeighting>>({{ClassWeighting::none, "none"},
                                          {ClassWeighting::inv_freq, "inv_freq"},
                                          {ClassWeighting::effective_num, "effective_num"}});

struct ClassWeightOptions {
  ClassWeighting by = ClassWeighting::none;
  double exponent = 1;              ///< of inv_freq
  double beta = 0.999;              ///< of effective_num
  std::optional<double> largest{};  ///< limit for the weights
};

/// The number of images of each class.
[[nodiscard]] std::vector<std::int64_t> class_counts(const Dataset& images);

/// Weights with mean 1, then limited. A class without images counts as one with one image. `by`
/// must not be none.
[[nodiscard]] std::vector<double> class_weights(std::span<const std::int64_t> counts,
                                                const ClassWeightOptions& options);

/// The range of the weights with the classes at its ends, for the user.
[[nodiscard]] std::string class_weights_text(std::span<const double> weights,
                                             std::span<const std::int64_t> counts,
                                             std::span<const std::string> names);

}  // namespace fovea
