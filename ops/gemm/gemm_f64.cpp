// The f64 GEMM on Eigen. Eigen runs single-threaded; the rows of C are split into tiles of fixed
// size. The other file that includes Eigen, report/measures/matrix_roots.cpp, is compiled with the
// same flags, because its templates may be defined only once in a program.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <vector>

#include "engine/base/error.h"
#include "engine/parallel.h"
#include "ops/elementwise/activation_functors.h"
#include "ops/gemm/gemm_f64.h"

namespace fovea::ops::cpu {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMajor = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
using ColumnMajor = Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using Result = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;

constexpr std::int64_t kTileRows = 64;

/// rows x cols elements of an operand with a stride of 1, or a copy of it.
struct View {
  const double* data;
  std::int64_t rows, cols, row, col;
  std::vector<double> copy;

  View(const double* from, std::int64_t r, std::int64_t c, const GemmOperand& x)
      : data(from), rows(r), cols(c), row(x.row), col(x.col) {
    if (row == 1 || col == 1) return;
    copy.resize(static_cast<std::size_t>(rows * cols));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        copy[static_cast<std::size_t>(i * cols + j)] = from[i * row + j * col];
      }
    }
    data = copy.data();
    row = cols;
    col = 1;
  }

  /// Calls f with the rows [begin, begin + count) as an Eigen map.
  template <class F>
  void visit(std::int64_t begin, std::int64_t count, F&& f) const {
    const double* at = data + begin * row;
    if (col == 1) {
      f(RowMajor(at, count, cols, Eigen::OuterStride<>(row)));
    } else {
      f(ColumnMajor(at, count, cols, Eigen::OuterStride<>(col)));
    }
  }
};

/// Applies bias, addend and GELU to the rows [begin, begin + count) of the product.
void finish(const GemmCall& call, std::int64_t begin, Matrix& values, std::int64_t c_offset) {
  const auto* bias = static_cast<const double*>(call.bias);
  const auto* addend = static_cast<const double*>(call.addend);
  auto* z = static_cast<double*>(call.pre_activation);
  for (std::int64_t i = 0; i < values.rows(); ++i) {
    for (std::int64_t j = 0; j < call.n; ++j) {
      double& v = values(i, j);
      if (call.bias_kind == GemmBias::per_column) v += bias[j];
      if (call.bias_kind == GemmBias::per_row) v += bias[begin + i];
      const std::int64_t at = c_offset + (begin + i) * call.c.row + j;
      if (addend != nullptr) v += addend[at];
      if (z != nullptr) z[at] = v;
      if (call.activation == GemmActivation::gelu) v = detail::Gelu{}(v);
      if (call.activation == GemmActivation::gelu_tanh) v = detail::GeluTanh{}(v);
    }
  }
}

void multiply_rows(const GemmCall& call, const View& a, const View& b, std::int64_t c_offset,
                   std::int64_t begin) {
  const std::int64_t rows = std::min(kTileRows, call.m - begin);
  Matrix values = Matrix::Zero(rows, call.n);
  if (call.k > 0) {
    a.visit(begin, rows, [&](const auto& left) {
      b.visit(0, call.k,
              [&](const auto& right) { values.noalias() += call.alpha * (left * right); });
    });
  }
  finish(call, begin, values, c_offset);
  Result(static_cast<double*>(call.c.data) + c_offset + begin * call.c.row, rows, call.n,
         Eigen::OuterStride<>(call.c.row)) = values;
}

void multiply(const GemmCall& call, std::int64_t entry) {
  const auto start = [&](const GemmOperand& x) -> const double* {
    if (x.data == nullptr) return nullptr;  // no elements: pointer arithmetic would be undefined
    return static_cast<const double*>(x.data) + gemm_batch_offset(call, x.batch, entry);
  };
  const View a(start(call.a), call.m, call.k, call.a);
  const View b(start(call.b), call.k, call.n, call.b);
  const std::int64_t c_offset = gemm_batch_offset(call, call.c.batch, entry);
  parallel_for((call.m + kTileRows - 1) / kTileRows, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) multiply_rows(call, a, b, c_offset, i * kTileRows);
  });
}

}  // namespace

void gemm_f64(const GemmCall& call) {
  check(call.a.dtype == DType::f64 && call.b.dtype == DType::f64, "gemm: mixed f64 with ",
        to_string(call.a.dtype), " and ", to_string(call.b.dtype));
  std::int64_t entries = 1;
  for (const std::int64_t size : call.batch) entries *= size;
  parallel_for(entries, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) multiply(call, i);
  });
}

}  // namespace fovea::ops::cpu
