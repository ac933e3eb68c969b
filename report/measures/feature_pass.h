// One pass over a set of pictures: features, statistics, inception score and accuracy together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "report/measures/feature_space.h"
#include "report/measures/statistics.h"

namespace fovea {

/// Features and measures of a set of pictures.
struct SetFeatures {
  Tensor rows{};  ///< f32 [N, d]
  FeatureStatistics statistics{};
  std::optional<FeatureStatistics> spatial{};
  double inception_score = 0;
  std::int64_t right = 0, asked = 0;  ///< pictures classified as labelled; pictures with a label

  [[nodiscard]] std::int64_t count() const { return rows.size(0); }
  [[nodiscard]] std::optional<double> accuracy() const;
  /// These rows as a set without spatial statistics and scores.
  [[nodiscard]] SetFeatures subset(std::span<const std::int64_t> indices) const;
  /// The number of rows that the other set also has, bit for bit, as equal pictures do.
  [[nodiscard]] std::int64_t rows_also_in(const SetFeatures& other) const;
};

/// The statistics of rows f32 [N, d].
[[nodiscard]] FeatureStatistics statistics_of_rows(const Tensor& rows);

struct PassOptions {
  std::int64_t batch_size = 64;
  int workers = 2;
  std::int64_t split = 5000;  ///< pictures per part of the inception score
  /// The network's class for each label of the set; empty: labels are not compared.
  std::vector<std::int64_t> classes{};
  /// Called with d before [N, d] is allocated; may throw.
  std::function<void(std::int64_t features)> on_features{};
  std::function<void(std::int64_t done)> on_batch{};
};

/// Throws on unreadable pictures, naming the first, and on features that are not finite.
[[nodiscard]] SetFeatures read_features(FeatureSpace& space,
                                        const std::shared_ptr<const Dataset>& images,
                                        const PassOptions& options);

}  // namespace fovea
