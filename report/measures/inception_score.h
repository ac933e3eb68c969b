// The inception score (Salimans et al. 2016) of class probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// exp(mean over x of KL(p(y|x) || p(y))) over each `split` pictures in their order, and the mean
/// of these scores. A last, smaller part counts as much as the others.
class InceptionScore {
 public:
  explicit InceptionScore(std::int64_t split = 5000) : split_(split) {}

  /// Adds probabilities [n, K], rows that sum to 1, of any float dtype on the CPU.
  void add(const Tensor& probabilities);
  /// Adds the softmax of logits [n, K], computed in f64.
  void add_logits(const Tensor& logits);
  /// Throws if nothing was added.
  [[nodiscard]] double mean();

 private:
  void add_row(const double* row, std::int64_t classes);
  void end_split();

  std::int64_t split_, rows_ = 0;
  double entropy_ = 0;        ///< sum of p log p over the rows of this split
  std::vector<double> sums_;  ///< of p, per class
  std::vector<double> scores_;
};

}  // namespace fovea
