// Whether probabilities can be believed: of the predictions made with 80 %, are 80 % right?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "train/tasks/metrics.h"

namespace fovea {

/// Predictions sorted into M = 15 bins of equal width by confidence, bin m = 1..M being
/// ((m - 1) / M, m / M]; Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks"
/// (ICML 2017), section 2.
class Calibration {
 public:
  static constexpr std::size_t kBins = 15;
  struct Bin {
    std::int64_t images = 0, right = 0;
    double confidence_sum = 0;
    [[nodiscard]] double accuracy() const;         ///< in [0, 1]; 0 of an empty bin
    [[nodiscard]] double mean_confidence() const;  ///< the same
  };

  Calibration() = default;
  explicit Calibration(std::span<const Prediction> predictions);

  /// A confidence that is not finite counts as 0 and as wrong: the model said nothing.
  void add(double confidence, bool is_right);

  /// ECE = sum over bins of (images of the bin / all) |accuracy - mean confidence|, their equation
  /// 3, in percent. 0 without images.
  [[nodiscard]] double expected_error() const;
  /// MCE: the largest |accuracy - mean confidence| of a bin that holds images, equation 5, percent.
  [[nodiscard]] double maximum_error() const;
  /// Mean confidence less accuracy, in percent: positive where the model is too sure of itself.
  [[nodiscard]] double overconfidence() const;
  [[nodiscard]] const std::array<Bin, kBins>& bins() const { return bins_; }

  /// from,to,images,right,accuracy,mean_confidence: a row per bin, shares in [0, 1].
  [[nodiscard]] std::string csv() const;
  /// The reliability diagram: accuracy of each bin over its confidence, the gap to the diagonal in
  /// red, and below how many images the bins hold.
  [[nodiscard]] std::string svg() const;

 private:
  [[nodiscard]] std::int64_t images() const;
  std::array<Bin, kBins> bins_{};
};

}  // namespace fovea
