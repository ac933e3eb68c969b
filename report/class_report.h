// Accuracy class by class: a table for the terminal, CSV files and a picture of the confusions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "figures/plot.h"
#include "train/tasks/metrics.h"

namespace fovea {

class ClassReport {
 public:
  struct Row {
    std::string name, confused_with;  ///< "" when it is never mistaken
    std::int64_t images = 0, correct = 0, predicted = 0;
    [[nodiscard]] double recall() const;     ///< percent
    [[nodiscard]] double precision() const;  ///< percent
  };

  /// Throws where a label or prediction is none of the classes.
  ClassReport(std::vector<std::string> classes, std::span<const Prediction> predictions);

  [[nodiscard]] std::vector<Row> rows() const;
  [[nodiscard]] const ConfusionMatrix& matrix() const { return matrix_; }
  /// A row per class: images, correct, recall, precision, and what it is taken for most often.
  [[nodiscard]] std::string table() const;
  [[nodiscard]] std::string classes_csv() const;
  /// Whether the matrix is shown whole, as pictures and tables of K x K; of more classes than
  /// kMaxConfusionClasses only what happened is listed.
  [[nodiscard]] bool is_whole() const { return matrix_.classes.size() <= kMaxConfusionClasses; }
  /// A row per true class, a column per predicted one; or a row per confusion that happened.
  [[nodiscard]] std::string confusion_csv() const;

  /// classes.csv, confusion.csv and, of a whole matrix, confusion.svg and confusion.png in
  /// `folder`, which is made if need be. Returns their paths.
  std::vector<std::filesystem::path> write(const std::filesystem::path& folder) const;

 private:
  ConfusionMatrix matrix_;
};

}  // namespace fovea
