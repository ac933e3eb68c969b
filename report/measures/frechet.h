// The Frechet distance between two sets of feature vectors, each modelled as a Gaussian.
#pragma once

#include "report/measures/statistics.h"

namespace fovea {

/// |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^1/2). Exactly 0 for equal statistics and never
/// negative. Throws if the numbers of features differ.
[[nodiscard]] double frechet_distance(const FeatureStatistics& a, const FeatureStatistics& b);

}  // namespace fovea
