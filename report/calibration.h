// Calibration of a classifier: are 80 % of its predictions with 80 % confidence right?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "train/tasks/metrics.h"

namespace fovea {

/// Predictions in M = 15 bins of equal width by confidence; bin m = 1..M is ((m - 1) / M, m / M].
/// Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks" (ICML 2017), section 2.
class Calibration {
 public:
  static constexpr std::size_t kBins = 15;
  struct Bin {
    std::int64_t images = 0, right = 0;
    double confidence_sum = 0;
    [[nodiscard]] double accuracy() const;         ///< in [0, 1]; 0 for an empty bin
    [[nodiscard]] double mean_confidence() const;  ///< in [0, 1]; 0 for an empty bin
  };

  Calibration() = default;
  explicit Calibration(std::span<const Prediction> predictions);

  /// Adds a prediction. A non-finite confidence counts as 0 and as wrong.
  void add(double confidence, bool is_right);

  /// ECE = sum over bins of (images of the bin / all) |accuracy - mean confidence|, equation 3 of
  /// the paper, in percent. 0 without images.
  [[nodiscard]] double expected_error() const;
  /// MCE: the largest |accuracy - mean confidence| over non-empty bins, equation 5, in percent.
  [[nodiscard]] double maximum_error() const;
  /// Mean confidence minus accuracy, in percent: positive if the model is overconfident.
  [[nodiscard]] double overconfidence() const;
  [[nodiscard]] const std::array<Bin, kBins>& bins() const { return bins_; }

  /// from,to,images,right,accuracy,mean_confidence: one row per bin, fractions in [0, 1].
  [[nodiscard]] std::string csv() const;
  /// The reliability diagram: each bin's accuracy over its confidence, with the gap to the diagonal
  /// in red, and below it the number of images per bin.
  [[nodiscard]] std::string svg() const;

 private:
  [[nodiscard]] std::int64_t images() const;
  std::array<Bin, kBins> bins_{};
};

}  // namespace fovea
