// Roots of symmetric matrices and nuclear norms, by Eigen's decompositions in f64.
#pragma once

#include <string>

#include "engine/tensor.h"

namespace fovea {

/// Throws Error, starting with `context`, unless the matrix [d, d] in f64 is symmetric and has no
/// negative eigenvalues, both up to what rounding to f32 explains.
void require_covariance(const Tensor& matrix, const std::string& context);

/// The symmetric root of a symmetric matrix [d, d] in f64; negative eigenvalues count as 0.
[[nodiscard]] Tensor symmetric_root(const Tensor& matrix);
/// The sum of the roots of the eigenvalues of a symmetric matrix; negative ones count as 0.
[[nodiscard]] double sum_of_root_eigenvalues(const Tensor& matrix);
/// The sum of the singular values of a matrix [m, n].
[[nodiscard]] double nuclear_norm(const Tensor& matrix);

}  // namespace fovea
