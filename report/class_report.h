// Accuracy per class: a table for the terminal, CSV files and a picture of the confusion matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/figures/plot.h"
#include "engine/base/output_folder.h"
#include "train/tasks/metrics.h"

namespace fovea {

class ClassReport {
 public:
  struct Row {
    std::string name;
    std::string confused_with;  ///< most frequent wrong prediction; "" if there is none
    std::int64_t images = 0, correct = 0, predicted = 0;
    [[nodiscard]] std::optional<double> recall() const;     ///< percent; empty without images
    [[nodiscard]] std::optional<double> precision() const;  ///< percent; empty if never predicted
  };

  /// Throws if a label or prediction is not one of the classes.
  ClassReport(std::vector<std::string> classes, std::span<const Prediction> predictions);

  [[nodiscard]] std::vector<Row> rows() const;
  /// Percent: the mean recall of the classes that have images, which counts rare ones as much as
  /// others; NaN without images.
  [[nodiscard]] double mean_recall() const;
  [[nodiscard]] const ConfusionMatrix& matrix() const { return matrix_; }
  /// One row per class: images, correct, recall, precision, and the class it is confused with.
  [[nodiscard]] std::string table() const;
  [[nodiscard]] std::string classes_csv() const;
  /// True if the whole K x K matrix is shown in pictures and tables. With more than
  /// kMaxConfusionClasses classes only the confusions that occurred are listed.
  [[nodiscard]] bool is_whole() const { return matrix_.classes.size() <= kMaxConfusionClasses; }
  /// One row per true class and one column per predicted class; or one row per confusion.
  [[nodiscard]] std::string confusion_csv() const;

  /// Writes classes.csv, confusion.csv and, for a whole matrix, confusion.svg and confusion.png.
  void write(OutputFolder& output) const;

 private:
  ConfusionMatrix matrix_;
};

/// A percentage for a table: "75.00", or "-" if there is none.
[[nodiscard]] std::string share_text(std::optional<double> percent);

}  // namespace fovea
