// Counts of labels, and timm's formulas.
#include "train/tasks/class_weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {

std::vector<std::int64_t> class_counts(const Dataset& images) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(images.classes()));
  for (std::int64_t i = 0; i < images.size(); ++i)
    ++counts.at(static_cast<std::size_t>(images.label(i)));
  return counts;
}

std::vector<double> class_weights(std::span<const std::int64_t> counts,
                                  const ClassWeightOptions& options) {
  check(options.by != ClassWeighting::none && !counts.empty(),
        "class_weights: expected a formula and at least one class");
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0LL));
  std::vector<double> weights;
  for (const std::int64_t count : counts) {
    const double n = std::max(static_cast<double>(count), 1.0);
    weights.push_back(options.by == ClassWeighting::inv_freq
                          ? std::pow(all / n, options.exponent)
                          : (1 - options.beta) / (1 - std::pow(options.beta, n)));
  }
  const double mean =
      std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  for (double& weight : weights) {
    weight /= mean;
    if (options.largest) weight = std::min(weight, *options.largest);
  }
  return weights;
}

std::string class_weights_text(std::span<const double> weights,
                               std::span<const std::int64_t> counts,
                               std::span<const std::string> names) {
  const auto least = std::ranges::min_element(weights), most = std::ranges::max_element(weights);
  const auto end = [&](const auto& weight) {
    const auto k = static_cast<std::size_t>(weight - weights.begin());
    return concat(short_number(*weight), " (", names[k], ", ", counts[k],
                  counts[k] == 1 ? " image)" : " images)");
  };
  const auto absent = std::ranges::count(counts, 0);
  return concat("classes weigh from ", end(least), " to ", end(most),
                absent == 0 ? "" : concat("; ", absent, " without images count as with one"));
}

}  // namespace fovea
