// Inner products of all pairs of vectors, block by block: 50,000 x 50,000 products would take
// 20 GB.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// The products of the rows [row, row + m) of one set with the rows [column, column + n) of
/// another, f64 [m, n], computed in f64 or in the vectors' own type.
class PairBlock {
 public:
  PairBlock(std::int64_t first_row, std::int64_t first_column, const Tensor& products)
      : row(first_row),
        column(first_column),
        products_(products.to(DType::f64).contiguous()),
        rows_(products_.size(0)),
        columns_(products_.size(1)),
        values_(products_.data<double>()) {}

  const std::int64_t row, column;
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] double at(std::int64_t i, std::int64_t j) const {
    return values_[i * columns_ + j];
  }
  /// The same products with both sets exchanged.
  [[nodiscard]] PairBlock transposed() const;

 private:
  Tensor products_;
  std::int64_t rows_, columns_;
  const double* values_;
};

inline constexpr std::int64_t kPairBlockRows = 1024;

using VisitBlock = std::function<void(const PairBlock& block)>;
/// Calls `visit` for all blocks of a [N, d] against b [M, d], f32 or f64 on the CPU, row by row of
/// blocks. The products are sums in `dtype`.
void for_each_pair_block(const Tensor& a, const Tensor& b, DType dtype, const VisitBlock& visit);
/// The same for all pairs within a set, but only for the blocks with column >= row.
void for_each_inner_block(const Tensor& a, DType dtype, const VisitBlock& visit);

/// Vectors with their squared norms, for exact distances.
class Points {
 public:
  explicit Points(const Tensor& rows);

  [[nodiscard]] std::int64_t count() const { return rows_.size(0); }
  [[nodiscard]] const Tensor& rows() const { return rows_; }
  [[nodiscard]] double square(std::int64_t i) const {
    return squares_[static_cast<std::size_t>(i)];
  }
  /// The largest error of an inner product in the vectors' own type, as a share of the sum of both
  /// squared norms.
  [[nodiscard]] double doubt() const;
  /// The squared distance to point j of `others`, summed feature by feature: exactly 0 for equal
  /// points, and symmetric.
  [[nodiscard]] double distance(std::int64_t i, const Points& others, std::int64_t j) const;

 private:
  Tensor rows_;  ///< contiguous, f32 or f64
  std::vector<double> squares_;
};

/// Bytes that the blocks need for vectors of d features.
[[nodiscard]] std::int64_t pair_block_bytes(std::int64_t features);

}  // namespace fovea
