// Predictions that ignore the picture, from the depths of the training set: what a model must beat.
#pragma once

#include <cstdint>
#include <vector>

#include "models/depth/measures.h"

namespace fovea {

/// Two constant predictions.
struct DepthBaselines {
  std::int64_t height = 0, width = 0;
  std::vector<double> median;  ///< the median of all known depths, at every pixel
  std::vector<double> mean;    ///< the mean of each pixel's known depths; where none is, the median

  [[nodiscard]] DepthPicture median_picture() const { return {median, height, width}; }
  [[nodiscard]] DepthPicture mean_picture() const { return {mean, height, width}; }
};

/// Collects the depths of training pictures of one size. Memory does not grow with their number:
/// the median comes from a histogram and is within 0.02 % of the exact one.
class DepthStatistics {
 public:
  /// Adds a picture; depths of 0 are not known. Throws if its size is not that of the first.
  void add(const DepthPicture& depth);
  /// Throws if no depth is known.
  [[nodiscard]] DepthBaselines baselines() const;

 private:
  [[nodiscard]] double median() const;

  std::int64_t height_ = 0, width_ = 0, known_ = 0;
  std::vector<double> sums_;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> histogram_;  ///< by the upper bits of a depth's f32
};

}  // namespace fovea
