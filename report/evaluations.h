// What `evaluate` found out: one table over all checkpoints and sizes, as text, CSV and JSON, and
// the files about one of them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/class_match.h"
#include "data/dataset.h"
#include "data/evaluation_transform.h"
#include "report/calibration.h"
#include "report/class_report.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {

/// One checkpoint at one image size.
struct EvaluatedModel {
  std::string checkpoint, model, dataset;  ///< path; registry name; name of the data set
  ImageSize size{};
  double crop_pct = 0.875;
  std::vector<std::string> classes;         ///< of the model
  std::vector<std::string> data_classes{};  ///< as the data set calls its own
  ClassMatch match{};                       ///< which of these are which of those
  Evaluation result;                        ///< with its predictions

  [[nodiscard]] Calibration calibration() const { return Calibration(result.predictions); }
  [[nodiscard]] ClassReport class_report() const;
};

/// Columns for a terminal: checkpoint, size, images, loss, top-1, top-5, ECE, images per second,
/// and how many of the model's classes the data set has and what told which is which.
[[nodiscard]] std::string evaluation_table(std::span<const EvaluatedModel> models);
/// The same and more, a row per model: percentages as numbers.
[[nodiscard]] std::string evaluation_csv(std::span<const EvaluatedModel> models);
/// {"results": [...]}: what the CSV has, broken images by name, every class with what the data set
/// calls it and, row by row, the confusion matrix (of more than kMaxConfusionClasses the
/// confusions that happened).
[[nodiscard]] std::string evaluation_json(std::span<const EvaluatedModel> models);

/// The files of ClassReport::write(), calibration.csv and .svg, mistakes.csv, and where there are
/// mistakes mistakes.svg and .png, in `folder`, which is made if need be. Returns their paths.
/// `preparation` is how the model saw the images.
std::vector<std::filesystem::path> write_evaluation(const std::filesystem::path& folder,
                                                    const EvaluatedModel& model,
                                                    const Dataset& dataset,
                                                    const EvaluationTransform& preparation);

}  // namespace fovea
