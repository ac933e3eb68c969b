// Batches of chosen samples, to see what a task draws for each.
#pragma once

#include <cstdint>
#include <vector>

#include "data/loading/batch.h"
#include "ops/view.h"

namespace fovea::tests {

inline Tensor indices_of(const std::vector<double>& indices) {
  return from_values({std::ssize(indices)}, indices, {DType::i64, {}});
}

/// Sample i has the index indices[i], also as its label.
inline Batch batch_of(const std::vector<double>& indices, const Tensor& images) {
  Batch batch;
  batch.indices = batch.labels = indices_of(indices);
  batch.images = images;
  return batch;
}

/// The values of sample `index`.
inline std::vector<double> row(const Tensor& x, std::int64_t index) {
  return ops::select(x, 0, index).to_vector();
}

}  // namespace fovea::tests
