// Curves and a table per class.
#include "report/detector_sections.h"

#include <utility>

namespace fovea {

std::vector<Section> sections_of(const EvaluatedDetector& detector) {
  const auto add_curves = [svg = svg_of_precision(detector)](Html& html) {
    html.figure(svg, "Precision over recall, of all classes and of those with the most objects.");
  };
  const auto add_classes = [rows = category_rows(detector)](Html& html) {
    html.element(
        "p",
        "Average precision of the classes that have objects, over IoU thresholds from 0.50 "
        "to 0.95, at 0.50 and 0.75, and by the objects' sizes; and average recall.",
        {{"class", "text"}});
    html.table(rows.front(), {rows.begin() + 1, rows.end()});
  };
  return {{"precision", "Precision and recall", add_curves}, {"classes", "Classes", add_classes}};
}

}  // namespace fovea
