// Sections of a run's report about an evaluated detector.
#pragma once

#include <vector>

#include "report/detector_report.h"
#include "report/page.h"

namespace fovea {

/// The sections: precision and recall, and a table of the classes with objects.
[[nodiscard]] std::vector<Section> sections_of(const EvaluatedDetector& detector);

}  // namespace fovea
