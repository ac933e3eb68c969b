// Rows of the gradient table for convolution and patch embedding.
#include "ops/conv.h"

#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

/// conv2d(x, weight[, bias]) with these options.
TensorFn conv(const ops::Conv2dOptions& options) {
  return
      [options](X x) { return ops::conv2d(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), options); };
}

Tensor embed(X x) { return ops::patch_embed(x[0], x[1], x.size() > 2 ? x[2] : Tensor()); }

Tensor as_parameter(const Tensor& x) {
  return x.to(x.dtype() == DType::bf16 ? DType::f32 : x.dtype());
}

OpCases dense_rows() {
  return {
      {"conv2d", "plain", {{2, 3, 5, 7}, {5, 3, 3, 2}, {5}}, conv({})},
      {"conv2d", "no bias", {{1, 2, 4, 5}, {3, 2, 2, 3}}, conv({})},
      {"conv2d",
       "stride 2, padding 1",
       {{2, 3, 7, 5}, {5, 3, 3, 3}, {5}},
       conv({.stride = {2, 2}, .padding = {1, 1}})},
      {"conv2d",
       "sides that differ",
       {{1, 2, 7, 11}, {3, 2, 2, 3}, {3}},
       conv({.stride = {1, 3}, .padding = {1, 2}, .dilation = {2, 1}})},
      {"conv2d",
       "dilation 2",
       {{1, 2, 7, 8}, {3, 2, 3, 3}, {3}},
       conv({.padding = {2, 2}, .dilation = {2, 2}})},
      {"conv2d",
       "padding wider than the image",
       {{1, 2, 2, 1}, {2, 2, 3, 3}, {2}},
       conv({.padding = {4, 3}})},
      {"conv2d",
       "stride 2, padding below and on the right",
       {{2, 3, 6, 4}, {5, 3, 3, 3}, {5}},
       conv({.stride = {2, 2}, .more_padding = {1, 1}})},
      {"conv2d",
       "padding on all sides, more on the right",
       {{1, 2, 4, 5}, {3, 2, 3, 2}, {3}},
       conv({.padding = {1, 1}, .more_padding = {0, 3}})},
      {"conv2d", "1 x 1", {{2, 3, 5, 7}, {5, 3, 1, 1}, {5}}, conv({})},
      {"conv2d", "1 x 1, stride 2", {{2, 3, 5, 7}, {5, 3, 1, 1}, {5}}, conv({.stride = {2, 2}})},
      {"conv2d", "1 x 1, padded", {{1, 3, 2, 3}, {2, 3, 1, 1}, {2}}, conv({.padding = {1, 1}})},
      {"conv2d",
       "two groups",
       {{2, 4, 5, 3}, {6, 2, 3, 3}, {6}},
       conv({.padding = {1, 1}, .groups = 2})},
      {"conv2d",
       "f32 parameters",
       {{2, 3, 5, 7}, {5, 3, 3, 2}, {5}},
       [](X x) { return ops::conv2d(x[0], as_parameter(x[1]), as_parameter(x[2])); }},
      {"conv2d",
       "repeated input",
       {{3, 3, 3, 3}, {3}},
       [](X x) {
         return ops::conv2d(x[0], x[0], x[1], {.padding = {1, 1}}) * x[0];
       }},
      {"conv2d", "no images", {{0, 3, 5, 5}, {2, 3, 3, 3}, {2}}, conv({})},
      {"conv2d", "two images at a time", {{19, 2, 3, 4}, {3, 2, 2, 2}, {3}}, conv({})},
      {"conv2d",
       "stride beyond the image",
       {{2, 2, 4, 3}, {3, 2, 2, 3}, {3}},
       conv({.stride = {1000000, 1}})},
      {"conv2d_relu",
       "stride 2, padding 1",
       {{2, 3, 7, 5}, {5, 3, 3, 3}, {5}},
       [](X x) {
         return ops::conv2d_relu(x[0], x[1], x[2], {.stride = {2, 2}, .padding = {1, 1}});
       }},
      {"conv2d_relu",
       "depthwise",
       {{2, 3, 7, 5}, {3, 1, 3, 3}, {3}},
       [](X x) {
         return ops::conv2d_relu(x[0], x[1], x[2], {.padding = {1, 1}, .groups = 3});
       }},
      {"conv2d_relu",
       "f32 parameters, no bias",
       {{2, 3, 5, 7}, {5, 3, 3, 2}},
       [](X x) { return ops::conv2d_relu(x[0], as_parameter(x[1]), {}); }},
  };
}

OpCases depthwise_rows() {
  return {
      {"conv2d",
       "depthwise",
       {{2, 3, 7, 5}, {3, 1, 3, 3}, {3}},
       conv({.padding = {1, 1}, .groups = 3})},
      {"conv2d",
       "depthwise, no bias, no padding",
       {{2, 3, 5, 7}, {3, 1, 2, 3}},
       conv({.groups = 3})},
      {"conv2d",
       "depthwise, stride 2",
       {{2, 3, 7, 6}, {3, 1, 3, 3}, {3}},
       conv({.stride = {2, 2}, .padding = {1, 1}, .groups = 3})},
      {"conv2d",
       "depthwise, padding below and on the right",
       {{2, 3, 6, 4}, {3, 1, 3, 3}, {3}},
       conv({.stride = {2, 2}, .more_padding = {1, 1}, .groups = 3})},
      {"conv2d",
       "depthwise, stride along one side",
       {{1, 2, 5, 7}, {2, 1, 3, 3}, {2}},
       conv({.stride = {1, 2}, .padding = {1, 2}, .groups = 2})},
      {"conv2d",
       "depthwise, dilation 2",
       {{1, 2, 7, 8}, {2, 1, 3, 3}, {2}},
       conv({.padding = {2, 1}, .dilation = {2, 2}, .groups = 2})},
      {"conv2d",
       "depthwise, wide",
       {{1, 2, 11, 13}, {2, 1, 5, 5}, {2}},
       conv({.padding = {2, 2}, .groups = 2})},
      {"conv2d",
       "depthwise, f32 parameters",
       {{2, 3, 7, 5}, {3, 1, 3, 3}, {3}},
       [](X x) {
         return ops::conv2d(x[0], as_parameter(x[1]), as_parameter(x[2]),
                            {.padding = {1, 1}, .groups = 3});
       }},
      {"conv2d", "one channel", {{2, 1, 5, 4}, {1, 1, 3, 3}, {1}}, conv({.padding = {1, 1}})},
      {"conv2d",
       "two filters per channel",
       {{2, 3, 5, 4}, {6, 1, 3, 3}, {6}},
       conv({.padding = {1, 1}, .groups = 3})},
      {"conv2d", "depthwise, no images", {{0, 3, 5, 5}, {3, 1, 3, 3}, {3}}, conv({.groups = 3})},
  };
}

/// depthwise_tokens(x, weight[, bias]) with these options.
TensorFn tokens(const ops::DepthwiseTokensOptions& options) {
  return [options](X x) {
    return ops::depthwise_tokens(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), options);
  };
}

OpCases token_rows() {
  const std::string op = "depthwise_tokens";
  return {
      {op,
       "a class token, zero padding, residual",
       {{2, 1 + 15, 7}, {7, 1, 3, 3}, {7}},
       tokens({.grid = {3, 5}, .prefix = 1, .padding = 1, .residual = true})},
      {op, "no padding", {{3, 15, 5}, {5, 1, 3, 3}, {5}}, tokens({.grid = {5, 3}})},
      {op,
       "no padding, residual, no bias",
       {{2, 2 + 35, 3}, {3, 1, 5, 5}},
       tokens({.grid = {5, 7}, .prefix = 2, .residual = true})},
      {op,
       "a kernel larger than the grid",
       {{2, 6, 3}, {3, 1, 7, 7}, {3}},
       tokens({.grid = {2, 3}, .padding = 3, .residual = true})},
      {op,
       "an even kernel, padding wider than it",
       {{2, 6, 3}, {3, 1, 2, 1}, {3}},
       tokens({.grid = {3, 2}, .padding = 3})},
      {op,
       "long rows",
       {{2, 18, 3}, {3, 1, 3, 3}, {3}},
       tokens({.grid = {2, 9}, .padding = 1, .residual = true})},
      {op,
       "single tap",
       {{2, 6, 3}, {3, 1, 1, 1}, {3}},
       tokens({.grid = {3, 2}, .residual = true})},
      {op,
       "many channels, more images than parts",
       {{19, 4, 71}, {71, 1, 3, 3}, {71}},
       tokens({.grid = {2, 2}, .padding = 1}),
       false},
      {op,
       "f32 parameters",
       {{2, 1 + 6, 67}, {67, 1, 3, 3}, {67}},
       [](X x) {
         return ops::depthwise_tokens(x[0], as_parameter(x[1]), as_parameter(x[2]),
                                      {.grid = {2, 3}, .prefix = 1, .padding = 1});
       }},
      {op,
       "repeated input",
       {{3, 9, 3}, {3, 1, 3, 3}},
       [](X x) {
         return ops::depthwise_tokens(x[0], x[1], {}, {.grid = {3, 3}, .padding = 1}) * x[0];
       }},
      {op, "no images", {{0, 6, 3}, {3, 1, 3, 3}, {3}}, tokens({.grid = {2, 3}, .padding = 1})},
  };
}

OpCases patch_rows() {
  return {
      {"patch_embed", "square", {{2, 3, 4, 6}, {5, 3, 2, 2}, {5}}, embed},
      {"patch_embed", "sides that differ", {{2, 2, 6, 10}, {3, 2, 3, 5}, {3}}, embed},
      {"patch_embed", "single pixels", {{2, 3, 3, 5}, {7, 3, 1, 1}, {7}}, embed},
      {"patch_embed", "no bias", {{1, 3, 4, 2}, {5, 3, 2, 2}}, embed},
      {"patch_embed",
       "f32 parameters",
       {{2, 3, 4, 6}, {5, 3, 2, 2}, {5}},
       [](X x) { return ops::patch_embed(x[0], as_parameter(x[1]), as_parameter(x[2])); }},
      {"patch_embed", "no images", {{0, 3, 4, 4}, {5, 3, 2, 2}, {5}}, embed},
  };
}

}  // namespace

OpCases conv_cases() {
  OpCases cases = dense_rows();
  for (const OpCases& more : {depthwise_rows(), token_rows(), patch_rows()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace fovea::tests
