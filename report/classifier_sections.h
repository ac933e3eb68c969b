// Sections of a run's report about an evaluated classifier.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/evaluations.h"
#include "report/mistakes.h"
#include "report/page.h"

namespace fovea {

/// Accuracy, loss and calibration, as pairs of label and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> scores_of(
    const EvaluatedModel& model);
/// The sections: calibration, classes, worst mistakes.
[[nodiscard]] std::vector<Section> sections_of(const EvaluatedModel& model,
                                               const std::vector<Mistake>& mistakes);

}  // namespace fovea
