// Precision and recall by nearest neighbours (Kynkaanniemi et al. 2019): a set's manifold is the
// union of balls around its vectors, each reaching to the k-th neighbour.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

struct PrecisionRecall {
  double precision = 0;  ///< share of the samples inside the reference's manifold
  double recall = 0;     ///< share of the reference inside the samples' manifold
};

/// Distances are Euclidean; a vector is not its own neighbour; balls contain their surface. Throws
/// unless both sets have more than k vectors.
[[nodiscard]] PrecisionRecall precision_recall(const Tensor& reference, const Tensor& samples,
                                               std::int64_t k = 3);

/// The squared distance of each vector to its k-th neighbour.
[[nodiscard]] std::vector<double> squared_radii(const Tensor& rows, std::int64_t k);

}  // namespace fovea
