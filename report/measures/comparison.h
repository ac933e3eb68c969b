// A table of measures: the samples, between real pictures against real ones and a Gaussian of
// pixels.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/measures/feature_pass.h"

namespace fovea {

/// The measures of one set against the reference; what cannot be computed is empty.
struct MeasureRow {
  std::string kind;      ///< "samples", "real" or "Gaussian"
  std::string pictures;  ///< the set's name
  std::int64_t count = 0, reference_count = 0;
  double frechet = 0;
  std::optional<double> spatial_frechet{}, kid{}, precision{}, recall{}, inception_score{},
      accuracy{};
};

/// The distance alone, from two sets of statistics.
[[nodiscard]] MeasureRow measure(const FeatureStatistics& set, const FeatureStatistics& reference);

/// The reference: statistics, and the features of its pictures if they are known.
struct Reference {
  const FeatureStatistics* statistics = nullptr;
  const FeatureStatistics* spatial = nullptr;
  const SetFeatures* features = nullptr;

  Reference(const FeatureStatistics& stored) : statistics(&stored) {}  // NOLINT: implicit
  explicit Reference(const SetFeatures& set)
      : statistics(&set.statistics),
        spatial(set.spatial ? &*set.spatial : nullptr),
        features(&set) {}
};

/// Compares a set with the reference. Precision and recall use the k-th neighbour and are empty for
/// sets of at most k vectors.
[[nodiscard]] MeasureRow measure(const SetFeatures& set, const Reference& reference,
                                 std::int64_t k);

/// The rows measured in one network's features.
struct FeatureComparison {
  SpaceInfo space;
  std::string sha256;  ///< hash of the weights file
  std::string reference;
  std::int64_t features = 0, k = 3, split = 5000;
  std::vector<MeasureRow> rows{};
  std::vector<std::string> notes{};
};

/// The rows, the conditions and the notes as text. `settings` is JSON about the samples, or empty.
[[nodiscard]] std::string comparison_table(const FeatureComparison& comparison,
                                           const std::string& settings);
/// {"samples": settings, "comparisons": [...]}.
[[nodiscard]] std::string comparisons_json(std::span<const FeatureComparison> comparisons,
                                           const std::string& settings);

}  // namespace fovea
