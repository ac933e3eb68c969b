// Pictures of a run: line charts and confusion matrices, as SVG text and as pixels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/image.h"
#include "train/run_log.h"

namespace fovea {

struct Series {
  std::string name;
  std::vector<double> x, y;  ///< of one length; points that are not finite leave a gap
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
};

/// One picture with the charts side by side.
[[nodiscard]] std::string svg_of_charts(std::span<const Chart> charts);
/// The loss and the accuracy charts of a run's log.
[[nodiscard]] std::vector<Chart> training_curves(std::span<const EpochRow> rows);

/// counts[t * classes + p]: how many samples of class t were taken for class p.
struct ConfusionMatrix {
  std::vector<std::string> classes;
  std::vector<std::int64_t> counts;
};

/// A heat map: rows are true classes, columns predictions, shaded by their share of the row. Up to
/// 20 classes carry their counts.
[[nodiscard]] std::string svg_of_confusion(const ConfusionMatrix& matrix);
/// The heat map alone, at least 256 pixels wide, for TensorBoard and PNG files.
[[nodiscard]] Image image_of_confusion(const ConfusionMatrix& matrix);

}  // namespace fovea
