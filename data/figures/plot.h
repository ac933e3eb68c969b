// Line charts, bar charts and confusion matrices, as SVG text and as pixels.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/image.h"

namespace fovea {

enum class Mark {
  line,
  bar,
  reference,  ///< a level for comparison: a grey dashed line without points
};

struct Series {
  std::string name;          ///< name in the legend; empty: no legend entry
  std::vector<double> x, y;  ///< equal lengths; non-finite points leave a gap
  Mark mark = Mark::line;
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  /// Bars of several series at one x: stacked in the series' colours, or side by side in one pale
  /// colour.
  bool stacked = false;
  std::vector<double> y_within{};  ///< further values that the y axis must include
};
/// Gives charts of one quantity the same y axis, so that they can be compared.
void share_y_axis(std::vector<Chart>& charts);

/// The colour of series `index`: Okabe and Ito's, which colour-blind readers can distinguish.
[[nodiscard]] std::string_view chart_color(std::size_t index);

/// One picture with the charts in rows of `columns`; 0: all side by side.
[[nodiscard]] std::string svg_of_charts(std::span<const Chart> charts, std::size_t columns = 0);
/// How many samples of each class were predicted as each other class. Zero counts are not stored:
/// with 40,000 classes the full table would have 1.6 billion cells.
struct ConfusionMatrix {
  std::vector<std::string> classes;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts{};  ///< {true, predicted}

  [[nodiscard]] std::int64_t count(std::int64_t label, std::int64_t prediction) const {
    const auto found = counts.find({label, prediction});
    return found == counts.end() ? 0 : found->second;
  }
};
/// Maximum number of classes for the pictures below; they throw on more.
inline constexpr std::size_t kMaxConfusionClasses = 2048;

/// A heat map: rows are true classes, columns predictions, shaded by the share of the row. Up to
/// 20 classes also show their counts.
[[nodiscard]] std::string svg_of_confusion(const ConfusionMatrix& matrix);
/// The heat map without labels, at least 256 pixels wide, for TensorBoard and PNG files.
[[nodiscard]] Image image_of_confusion(const ConfusionMatrix& matrix);

}  // namespace fovea
