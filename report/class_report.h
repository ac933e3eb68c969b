// Accuracy class by class: a table for the terminal, CSV files and a picture of the confusions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "figures/plot.h"

namespace fovea {

class ClassReport {
 public:
  struct Row {
    std::string name, confused_with;  ///< "" when it is never mistaken
    std::int64_t images = 0, correct = 0, predicted = 0;
    [[nodiscard]] double recall() const;     ///< percent
    [[nodiscard]] double precision() const;  ///< percent
  };

  /// counts[label * K + prediction]: see confusion_counts().
  ClassReport(std::vector<std::string> classes, std::vector<std::int64_t> counts);

  [[nodiscard]] std::vector<Row> rows() const;
  [[nodiscard]] const ConfusionMatrix& matrix() const { return matrix_; }
  /// A row per class: images, correct, recall, precision, and what it is taken for most often.
  [[nodiscard]] std::string table() const;
  [[nodiscard]] std::string classes_csv() const;
  /// A row per true class, a column per predicted one.
  [[nodiscard]] std::string confusion_csv() const;

  /// classes.csv, confusion.csv, confusion.svg and confusion.png in `folder`, which is made if need
  /// be. Returns their paths.
  std::vector<std::filesystem::path> write(const std::filesystem::path& folder) const;

 private:
  ConfusionMatrix matrix_;
};

}  // namespace fovea
