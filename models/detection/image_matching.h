// Which detections of one category in one image match objects of the truth, as the COCO evaluation
// decides it.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "models/detection/average_precision.h"

namespace fovea::detail {

inline constexpr std::size_t kMaxDetections = 100;  ///< per category and image

struct AreaRange {
  double least, most;

  [[nodiscard]] bool contains(double area) const { return area >= least && area <= most; }
};
/// All, small, medium, large; bounds belong to both sides.
inline constexpr std::array<AreaRange, kSizes> kAreaRanges{
    {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}}};

/// 0.50, 0.55, ..., 0.95 and 0.00, 0.01, ..., 1.00, as numpy.linspace rounds them.
[[nodiscard]] std::array<double, kIouThresholds> iou_thresholds();
[[nodiscard]] std::array<double, kRecallPoints> recall_points();

/// A detection at an IoU threshold: it counts as right, as wrong, or not at all.
enum class Verdict : char { right, wrong, ignored };

struct ImageMatching {
  std::vector<double> scores;  ///< falling, at most kMaxDetections
  /// verdicts[size][threshold] of the detections, in the order of their scores.
  std::array<std::array<std::vector<Verdict>, kIouThresholds>, kSizes> verdicts;
  std::array<std::int64_t, kSizes> objects{};  ///< that count
};

/// `truth` and `detections` are those of one category in one image, in the order given to
/// average_precision().
[[nodiscard]] ImageMatching match_image(std::span<const TruthBox> truth,
                                        std::span<const ScoredBox> detections);

}  // namespace fovea::detail
