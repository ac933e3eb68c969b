// Eigen's eigenvalue and singular value decompositions, single-threaded: the results do not depend
// on the number of threads.
#define EIGEN_DONT_PARALLELIZE
#include "report/measures/matrix_roots.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>

#include "engine/base/error.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"

namespace fovea {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Solver = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>;

Eigen::Map<const Matrix> view(const Tensor& matrix) {
  return {matrix.data<double>(), matrix.size(0), matrix.size(1)};
}

Solver decompose(const Tensor& matrix, Eigen::DecompositionOptions options) {
  const Tensor values = matrix.contiguous();
  check(values.rank() == 2 && values.size(0) == values.size(1), "matrix root: got shape ",
        values.shape(), ", expected a square matrix");
  const Eigen::MatrixXd symmetric = (view(values) + view(values).transpose()) / 2;
  Solver solver(symmetric, options);
  check(
      solver.info() == Eigen::Success,
      "matrix root: the eigenvalues of the covariance did not converge; are the features finite?");
  return solver;
}

}  // namespace

void require_covariance(const Tensor& matrix, const std::string& context) {
  constexpr double kRounding = 1e-5;  // as a share of the norm, which bounds every eigenvalue
  const Tensor values = matrix.contiguous();
  const Eigen::MatrixXd covariance = view(values);
  const double doubt = kRounding * covariance.norm();
  const double skew = (covariance - covariance.transpose()).cwiseAbs().maxCoeff();
  check(skew <= doubt, context, ": is not symmetric: opposite values differ by up to ", skew,
        ", expected a covariance");
  const auto identity = Eigen::MatrixXd::Identity(covariance.rows(), covariance.cols());
  const Eigen::LLT<Eigen::MatrixXd> cholesky(covariance + doubt * identity);
  check(cholesky.info() == Eigen::Success || doubt == 0, context,
        ": has negative eigenvalues, expected a covariance, which has none");
}

Tensor symmetric_root(const Tensor& matrix) {
  const Solver solver = decompose(matrix, Eigen::ComputeEigenvectors);
  const Eigen::VectorXd fourth = solver.eigenvalues().cwiseMax(0).cwiseSqrt().cwiseSqrt();
  const Matrix scaled = solver.eigenvectors() * fourth.asDiagonal();  // V l^1/4
  const Tensor half = empty(matrix.shape(), {DType::f64, {}});
  std::copy_n(scaled.data(), scaled.size(), half.data<double>());
  return ops::matmul(half, half, {.b = true});  // V l^1/2 V^T
}

double sum_of_root_eigenvalues(const Tensor& matrix) {
  return decompose(matrix, Eigen::EigenvaluesOnly).eigenvalues().cwiseMax(0).cwiseSqrt().sum();
}

double nuclear_norm(const Tensor& matrix) {
  const Tensor values = matrix.contiguous();
  const Eigen::BDCSVD<Eigen::MatrixXd> solver(view(values));
  check(solver.info() == Eigen::Success,
        "nuclear norm: the singular values did not converge; are the features finite?");
  return solver.singularValues().sum();
}

}  // namespace fovea
