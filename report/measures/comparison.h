// A table of measures: the samples, with real against real as the floor and a Gaussian of pixels as
// the ceiling.
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
  std::string kind;      ///< "samples", "floor" or "ceiling"
  std::string pictures;  ///< the set's name
  std::int64_t count = 0, reference_count = 0;
  double frechet = 0;
  std::optional<double> spatial_frechet{}, kid{}, precision{}, recall{}, inception_score{},
      accuracy{};
};

/// Two sets of statistics without a network: only the distance.
[[nodiscard]] MeasureRow measure(const FeatureStatistics& set, const FeatureStatistics& reference);

/// The reference: statistics, and if its pictures are known their features.
struct Reference {
  const FeatureStatistics* statistics = nullptr;
  const FeatureStatistics* spatial = nullptr;
  const SetFeatures* features = nullptr;

  Reference(const FeatureStatistics& stored) : statistics(&stored) {}  // NOLINT: is one
  explicit Reference(const SetFeatures& set)
      : statistics(&set.statistics),
        spatial(set.spatial ? &*set.spatial : nullptr),
        features(&set) {}
};

/// Compares a set with the reference. `k` is that of precision and recall; sets with at most k
/// vectors have none.
[[nodiscard]] MeasureRow measure(const SetFeatures& set, const Reference& reference,
                                 std::int64_t k);

/// The rows measured in one network's features.
struct FeatureComparison {
  SpaceInfo space;
  std::string sha256;  ///< of the weights' file
  std::string reference;
  std::int64_t features = 0, k = 3, split = 5000;
  std::vector<MeasureRow> rows{};
  std::vector<std::string> notes{};
};

/// `settings` is JSON about the samples, or empty.
[[nodiscard]] std::string comparison_table(const FeatureComparison& comparison,
                                           const std::string& settings);
[[nodiscard]] std::string comparisons_json(std::span<const FeatureComparison> comparisons,
                                           const std::string& settings);

}  // namespace fovea
