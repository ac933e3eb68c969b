// Results of `evaluate` for detectors: COCO's twelve numbers, per class and size, and
// precision-recall curves.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "models/detection/average_precision.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

/// The results of one checkpoint.
struct EvaluatedDetector {
  std::string checkpoint, model, dataset;  ///< path; registry name; name of the data set
  std::vector<std::string> classes;        ///< class names by category
  double loss = 0;                         ///< of all images, see FoundObjects
  AveragePrecision precision{};
  EvaluationPass pass{};
};

/// Titles, and one row per category with objects: objects, AP, AP50, AP75, AP of small,
/// medium and large objects, AR. "-": there are no objects of that size.
[[nodiscard]] std::vector<std::vector<std::string>> category_rows(
    const EvaluatedDetector& detector);
/// They as a table for a terminal.
[[nodiscard]] std::string category_table(const EvaluatedDetector& detector);
/// Table for a terminal, one row per checkpoint: images, loss, the twelve numbers, images per
/// second. One checkpoint: a list.
[[nodiscard]] std::string detector_table(std::span<const EvaluatedDetector> detectors);
/// The same values as CSV; numbers without objects are -1.
[[nodiscard]] std::string detector_csv(std::span<const EvaluatedDetector> detectors);
/// {"results": [...]}: the CSV's values and every category with objects.
[[nodiscard]] std::string detector_json(std::span<const EvaluatedDetector> detectors);

/// Precision over recall: of all classes at IoU 0.50, 0.75 and 0.90, and of up to ten classes,
/// those with the most objects, at IoU 0.50.
[[nodiscard]] std::string svg_of_precision(const EvaluatedDetector& detector);
/// category,name,iou,recall,precision for all thresholds and recalls.
[[nodiscard]] std::string precision_csv(const EvaluatedDetector& detector);

/// Writes precision.csv, precision_recall.csv and precision_recall.svg to `folder`, creating it if
/// necessary. Returns the paths.
std::vector<std::filesystem::path> write_precision(const std::filesystem::path& folder,
                                                   const EvaluatedDetector& detector);

}  // namespace fovea
