// Average precision and recall of detections, as the COCO evaluation defines them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fovea {

/// An object of the truth: box in pixels from its corner (x, y); `area` decides which sizes it
/// belongs to. Detections that overlap a crowd count neither as right nor as wrong.
struct TruthBox {
  std::int64_t image, category;
  double x, y, width, height, area;
  bool crowd;
};
struct ScoredBox {
  std::int64_t image, category;
  double x, y, width, height, score;
};

inline constexpr int kIouThresholds = 10;  ///< 0.50, 0.55, ..., 0.95
inline constexpr int kRecallPoints = 101;  ///< 0.00, 0.01, ..., 1.00
inline constexpr int kSizes = 4;           ///< all, small, medium, large

/// The names of the twelve numbers, in order: "AP", "AP50", ...
extern const std::array<std::string_view, 12> kPrecisionNames;

/// -1 stands for "nothing to average": a category without objects of the size.
struct CategoryPrecision {
  std::int64_t category = 0;
  std::int64_t objects = 0;  ///< without crowds
  /// By size: AP over all thresholds, AP at IoU 0.50 and 0.75, and recall averaged over thresholds,
  /// with at most 100 detections per image.
  std::array<double, kSizes> ap{}, ap50{}, ap75{}, ar{};
  std::array<double, 3> ar_at{};  ///< all sizes, with at most 1, 10, 100 detections per image
  /// Precision at each recall, by IoU threshold: all sizes, 100 detections.
  std::array<std::array<double, kRecallPoints>, kIouThresholds> precision{};
};

struct AveragePrecision {
  /// AP, AP50, AP75, AP of small, medium, large objects; AR with 1, 10, 100 detections per image;
  /// AR of small, medium, large objects. Means over categories with objects.
  std::array<double, 12> numbers{};
  std::vector<CategoryPrecision> categories;  ///< in the order given
};

/// IoU thresholds 0.50 to 0.95; at most 100 detections per category and image, by falling score,
/// equal scores in the order given; small: area up to 32^2, medium: 32^2 to 96^2, large: from 96^2
/// to 1e10, bounds included on both sides; a detection's area is width x height. `categories` and
/// `images` are what is evaluated, each ID once; images count in ascending order of their IDs.
/// Boxes of other images or categories are left out. Throws for numbers that are not finite.
[[nodiscard]] AveragePrecision average_precision(std::span<const TruthBox> truth,
                                                 std::span<const ScoredBox> detections,
                                                 std::span<const std::int64_t> categories,
                                                 std::span<const std::int64_t> images);

}  // namespace fovea
