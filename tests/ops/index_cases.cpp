// Rows of the gradient table for reading by index.
#include "ops/index.h"

#include "ops/arithmetic.h"
#include "ops/relative.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

In positions(Shape shape, std::vector<double> values) {
  return In{shape, std::move(values)}.with_dtype(DType::i64);
}

/// Positions that touch every row of 5 several times, out of order.
In many_positions(Shape shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(static_cast<double>(i * i * 3 % 5));
  }
  return positions(shape, std::move(values));
}

/// Buckets -1 to 4, every one of them several times.
In many_buckets(Shape shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(static_cast<double>(i * i * 5 % 11 % 6 - 1));
  }
  return positions(shape, std::move(values));
}

OpCases relative_rows() {
  const TensorFn gathered = [](X x) { return ops::relative_gather(x[0], x[1]); };
  const TensorFn summed = [](X x) { return ops::relative_sum(x[0], x[1], 5); };
  return {
      {"relative_gather", "two buckets a pair", {{2, 3, 7, 5}, many_buckets({2, 7, 3})}, gathered},
      {"relative_gather", "one bucket a pair", {{1, 2, 3, 5}, many_buckets({1, 3, 11})}, gathered},
      {"relative_gather", "no bucket", {{2, 1, 3, 5}, many_buckets({0, 3, 2})}, gathered, false},
      {"relative_gather",
       "repeated input",
       {{1, 2, 5, 5}, many_buckets({2, 5, 5})},
       [](X x) { return ops::relative_gather(x[0], x[1]) * x[0]; }},
      {"relative_gather", "nothing", {{0, 2, 3, 5}, many_buckets({2, 3, 3})}, gathered},
      {"relative_sum", "two buckets a pair", {{2, 3, 7, 3}, many_buckets({2, 7, 3})}, summed},
      {"relative_sum", "one bucket a pair", {{1, 2, 3, 11}, many_buckets({1, 3, 11})}, summed},
      {"relative_sum",
       "repeated input",
       {{1, 2, 5, 5}, many_buckets({2, 5, 5})},
       [](X x) { return ops::relative_sum(x[0], x[1], 5) * x[0]; }},
      {"relative_sum", "nothing", {{0, 2, 3, 3}, many_buckets({2, 3, 3})}, summed},
  };
}

}  // namespace

OpCases index_cases() {
  const auto gathered = [](int axis) -> TensorFn {
    return [axis](X x) { return ops::gather(x[0], axis, x[1]); };
  };
  const auto selected = [](int axis) -> TensorFn {
    return [axis](X x) { return ops::index_select(x[0], axis, x[1]); };
  };
  const TensorFn embedded = [](X x) { return ops::embedding(x[0], x[1]); };
  OpCases rows{
      {"gather", "middle axis", {{2, 5, 3}, many_positions({2, 7, 3})}, gathered(1)},
      {"gather", "first axis", {{5, 3}, many_positions({7, 3})}, gathered(0)},
      {"gather", "last axis", {{3, 5}, many_positions({3, 11})}, gathered(-1)},
      {"gather", "smaller off the axis", {{3, 5, 7}, many_positions({2, 4, 5})}, gathered(1)},
      {"gather",
       "repeated input",
       {{5}, many_positions({5})},
       [](X x) { return ops::gather(x[0], 0, x[1]) * x[0]; }},
      {"gather", "nothing", {{3, 5}, positions({3, 0}, {})}, gathered(1)},
      {"index_select",
       "first axis, repeated rows",
       {{5, 3}, positions({4}, {4, 0, 4, 2})},
       selected(0)},
      {"index_select", "last axis", {{2, 3, 5}, positions({3}, {1, 1, 0})}, selected(2)},
      {"index_select", "wide rows", {{5, 131}, many_positions({7})}, selected(0), false},
      {"index_select", "nothing", {{5, 3}, positions({0}, {})}, selected(0)},
      {"embedding", "repeated rows", {{5, 3}, positions({2, 3}, {4, 0, 4, 2, 2, 4})}, embedded},
      {"embedding", "one id", {{5, 3}, positions({}, {3})}, embedded},
      {"embedding", "wide rows", {{5, 131}, many_positions({11})}, embedded, false},
      {"embedding", "no ids", {{5, 3}, positions({0, 2}, {})}, embedded},
  };
  const OpCases relative = relative_rows();
  rows.insert(rows.end(), relative.begin(), relative.end());
  return rows;
}

}  // namespace fovea::tests
