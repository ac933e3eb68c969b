// The trace of (S1 S2)^1/2, whose square root exists though S1 S2 is not symmetric.
#include "report/measures/frechet.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "report/measures/matrix_roots.h"

namespace fovea {
namespace {

/// A matrix A with A^T A = S: without full rank the centred vectors themselves, because eigenvalues
/// of S that should be 0 are rounded to about 1e-16, and their roots would be 1e-8.
Tensor factor(const FeatureStatistics& s) {
  if (!s.centred.defined()) return symmetric_root(s.covariance);
  return s.centred / std::sqrt(static_cast<double>(s.count - 1));
}

/// tr (S1 S2)^1/2, from the eigenvalues of S1^1/2 S2 S1^1/2, or, for low ranks, as the nuclear norm
/// of A1 A2^T: its squared singular values are the same eigenvalues.
double trace_of_root(const FeatureStatistics& a, const FeatureStatistics& b) {
  if (a.centred.defined() || b.centred.defined()) {
    return nuclear_norm(ops::matmul(factor(a), factor(b), {.b = true}));
  }
  const Tensor root = symmetric_root(a.covariance);
  return sum_of_root_eigenvalues(ops::matmul(ops::matmul(root, b.covariance), root));
}

bool is_equal(const Tensor& a, const Tensor& b) {
  const Tensor left = a.contiguous(), right = b.contiguous();
  const double* const values = left.data<double>();
  return std::equal(values, values + left.numel(), right.data<double>());
}

double trace(const Tensor& matrix) {
  double sum = 0;
  for (std::int64_t i = 0; i < matrix.size(0); ++i) {
    sum += matrix.data<double>()[i * (matrix.size(1) + 1)];
  }
  return sum;
}

}  // namespace

double frechet_distance(const FeatureStatistics& a, const FeatureStatistics& b) {
  check(a.features() == b.features(), "Frechet distance: got ", a.features(), " and ", b.features(),
        " features, expected the same number; were the statistics made by another network?");
  if (is_equal(a.mean, b.mean) && is_equal(a.covariance, b.covariance)) return 0;
  double squares = 0;
  for (std::int64_t i = 0; i < a.features(); ++i) {
    const double difference = a.mean.data<double>()[i] - b.mean.data<double>()[i];
    squares += difference * difference;
  }
  const double distance = squares + trace(a.covariance.contiguous()) +
                          trace(b.covariance.contiguous()) - 2 * trace_of_root(a, b);
  return std::max(distance, 0.0);  // rounding
}

}  // namespace fovea
