// Blocks of inner products, each by one matrix product.
#include "report/measures/pair_blocks.h"

#include <algorithm>

#include "engine/base/error.h"
#include "ops/matmul.h"
#include "ops/view.h"

namespace fovea {
namespace {

Tensor block_of(const Tensor& rows, std::int64_t first, DType dtype) {
  return ops::slice(rows, 0, first, std::min(first + kPairBlockRows, rows.size(0)))
      .to(dtype)
      .contiguous();
}

void require_vectors(const Tensor& rows) {
  const bool ok = rows.rank() == 2 && (rows.dtype() == DType::f32 || rows.dtype() == DType::f64);
  check(ok, "features: got ", rows.dtype(), " ", rows.shape(), ", expected f32 or f64 [N, d]");
}

void visit_blocks(const Tensor& a, const Tensor& b, bool upper, DType dtype,
                  const VisitBlock& visit) {
  require_vectors(a);
  require_vectors(b);
  check(a.size(1) == b.size(1), "features: got vectors of ", a.size(1), " and ", b.size(1),
        " features, expected the same number");
  for (std::int64_t row = 0; row < a.size(0); row += kPairBlockRows) {
    const Tensor left = block_of(a, row, dtype);
    for (std::int64_t column = upper ? row : 0; column < b.size(0); column += kPairBlockRows) {
      visit({row, column, ops::matmul(left, block_of(b, column, dtype), {.b = true})});
    }
  }
}

template <class T>
double squared_distance(const T* a, const T* b, std::int64_t features) {
  double sum = 0;
  for (std::int64_t k = 0; k < features; ++k) {
    const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    sum += difference * difference;
  }
  return sum;
}

template <class T>
std::vector<double> squares_of(const Tensor& rows) {
  std::vector<double> squares;
  const std::vector<T> origin(static_cast<std::size_t>(rows.size(1)));
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const T* const row = rows.data<T>() + i * rows.size(1);
    squares.push_back(squared_distance(row, origin.data(), rows.size(1)));
  }
  return squares;
}

}  // namespace

PairBlock PairBlock::transposed() const { return {column, row, ops::transpose(products_, 0, 1)}; }

void for_each_pair_block(const Tensor& a, const Tensor& b, DType dtype, const VisitBlock& visit) {
  visit_blocks(a, b, /*upper=*/false, dtype, visit);
}

void for_each_inner_block(const Tensor& a, DType dtype, const VisitBlock& visit) {
  visit_blocks(a, a, /*upper=*/true, dtype, visit);
}

Points::Points(const Tensor& rows) : rows_(rows.contiguous()) {
  require_vectors(rows_);
  squares_ = rows_.dtype() == DType::f32 ? squares_of<float>(rows_) : squares_of<double>(rows_);
}

/// The bound of a sum of d products in any order, with |x| |y| <= (|x|^2 + |y|^2) / 2; twice, since
/// a distance contains the product twice.
double Points::doubt() const {
  const double rounding = rows_.dtype() == DType::f32 ? 0x1p-24 : 0x1p-53;
  return rounding * static_cast<double>(rows_.size(1) + 4);
}

double Points::distance(std::int64_t i, const Points& others, std::int64_t j) const {
  const std::int64_t d = rows_.size(1);
  if (rows_.dtype() == DType::f32 && others.rows_.dtype() == DType::f32) {
    return squared_distance(rows_.data<float>() + i * d, others.rows_.data<float>() + j * d, d);
  }
  check(rows_.dtype() == others.rows_.dtype(), "features: got f32 beside f64");
  return squared_distance(rows_.data<double>() + i * d, others.rows_.data<double>() + j * d, d);
}

std::int64_t pair_block_bytes(std::int64_t features) {
  const auto size = static_cast<std::int64_t>(sizeof(double));
  return size * kPairBlockRows * (2 * features + 2 * kPairBlockRows);
}

}  // namespace fovea
