// Rows of the gradient table for pooling. Values are distinct, so that no maximum is tied.
#include "ops/pool.h"

#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

TensorFn average(ops::Pool2dOptions options) {
  return [options](X x) { return ops::avg_pool2d(x[0], options); };
}
TensorFn maximum(ops::Pool2dOptions options) {
  return [options](X x) { return ops::max_pool2d(x[0], options); };
}

/// 0, 7, 14, ... modulo a prime: distinct and in no order, exact in bf16.
In distinct(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i * 7 % 251) / 8 - 8;
  }
  return {shape, values};
}

}  // namespace

OpCases pool_cases() {
  return {
      {"avg_pool2d", "2 x 2", {{2, 3, 5, 7}}, average({})},
      {"avg_pool2d",
       "overlapping, padded",
       {{2, 3, 5, 7}},
       average({.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}})},
      {"avg_pool2d",
       "padding not counted",
       {{1, 2, 5, 5}},
       average(
           {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_include_pad = false})},
      {"avg_pool2d", "empty batch", {{0, 3, 4, 4}}, average({})},
      {"max_pool2d", "2 x 2", {distinct({2, 3, 5, 7})}, maximum({})},
      {"max_pool2d",
       "overlapping, padded",
       {distinct({2, 3, 5, 7})},
       maximum({.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}})},
      {"max_pool2d", "empty batch", {{0, 3, 4, 4}}, maximum({})},
  };
}

}  // namespace fovea::tests
