// Results of `evaluate`: one table over all checkpoints and sizes, as text, CSV and JSON, and
// detailed files for a single one.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/classes/class_match.h"
#include "data/dataset.h"
#include "data/geometry/evaluation_transform.h"
#include "report/calibration.h"
#include "report/class_report.h"
#include "train/tasks/classification.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {

/// The results of one checkpoint at one image size.
struct EvaluatedModel {
  std::string checkpoint, model, dataset;  ///< path; registry name; name of the data set
  ImageSize size{};
  double crop_pct = 0.875;
  std::vector<std::string> classes;         ///< class names of the model
  std::vector<std::string> data_classes{};  ///< class names of the data set
  ClassMatch match{};                       ///< mapping between the two
  Evaluation result;                        ///< includes the predictions

  [[nodiscard]] Calibration calibration() const { return Calibration(result.predictions); }
  [[nodiscard]] ClassReport class_report() const;
  /// Whether top-5 says anything: there are more than five classes.
  [[nodiscard]] bool has_top5() const { return std::ssize(classes) > kTrivialTop5; }
};

/// Table for a terminal: checkpoint, size, images, loss, top-1, top-5 if any model has more than
/// five classes, mean recall, ECE, images per second, the number of the model's classes in the data
/// set, and how the classes were matched. One model: a list.
[[nodiscard]] std::string evaluation_table(std::span<const EvaluatedModel> models);
/// CSV with more columns, one row per model; percentages are numbers.
[[nodiscard]] std::string evaluation_csv(std::span<const EvaluatedModel> models);
/// {"results": [...]}: the CSV's values, the names of broken images, every class with the data
/// set's name for it, and the confusion matrix row by row (with more than kMaxConfusionClasses
/// classes, only the confusions that occurred).
[[nodiscard]] std::string evaluation_json(std::span<const EvaluatedModel> models);

/// Writes the files of ClassReport::write(), calibration.csv and .svg, mistakes.csv and, if there
/// are mistakes, mistakes.svg and .png to `folder`, creating it if necessary. Returns the paths.
/// `preparation` is the model's preprocessing.
std::vector<std::filesystem::path> write_evaluation(const std::filesystem::path& folder,
                                                    const EvaluatedModel& model,
                                                    const Dataset& dataset,
                                                    const EvaluationTransform& preparation);

}  // namespace fovea
