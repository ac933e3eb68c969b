// Rows of the gradient table for average and max pooling.
#include "ops/pool.h"

#include "ops/arithmetic.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

TensorFn average(const ops::Pool2dOptions& options) {
  return [options](X x) { return ops::avg_pool2d(x[0], options); };
}
TensorFn maximum(const ops::Pool2dOptions& options) {
  return [options](X x) { return ops::max_pool2d(x[0], options); };
}

/// Values 0, 7, 14, ... modulo a prime, over 10: all differ by far more than a step of the check,
/// and by enough for bf16 to tell them apart.
In spaced(const Shape& shape, int prime) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(static_cast<double>(i * 7 % prime) / 16 - 2);
  }
  return In(shape, values);
}

}  // namespace

OpCases pool_cases() {
  return {
      {"avg_pool2d", "2 x 2", {{2, 3, 4, 6}}, average({})},
      {"avg_pool2d", "overlap", {{2, 1, 5, 7}}, average({.kernel = {3, 2}, .stride = {2, 1}})},
      {"avg_pool2d",
       "padding counts",
       {{1, 2, 5, 7}},
       average({.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}})},
      {"avg_pool2d",
       "padding does not count",
       {{1, 2, 5, 7}},
       average(
           {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_include_pad = false})},
      {"avg_pool2d",
       "gaps between windows",
       {{1, 2, 7, 5}},
       average({.kernel = {1, 2}, .stride = {3, 3}})},
      {"avg_pool2d",
       "repeated input",
       {{1, 1, 4, 4}},
       [](X x) { return ops::avg_pool2d(x[0], {}) * ops::avg_pool2d(x[0], {}); }},
      {"avg_pool2d", "no images", {{0, 3, 4, 4}}, average({})},
      {"max_pool2d", "2 x 2", {spaced({1, 3, 4, 6}, 73)}, maximum({})},
      {"max_pool2d",
       "overlap",
       {spaced({2, 1, 5, 7}, 71)},
       maximum({.kernel = {3, 2}, .stride = {2, 1}})},
      {"max_pool2d",
       "padding",
       {spaced({1, 2, 5, 7}, 71)},
       maximum({.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}})},
      {"max_pool2d",
       "repeated input",
       {spaced({1, 1, 4, 4}, 17)},
       [](X x) { return ops::max_pool2d(x[0], {}) * ops::max_pool2d(x[0], {}); }},
      {"max_pool2d", "no images", {{0, 3, 4, 4}}, maximum({})},
  };
}

}  // namespace fovea::tests
