// Rows of the gradient table for convolution and patch embedding.
#include "ops/conv.h"

#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

TensorFn conv(ops::Conv2dOptions options) {
  return
      [options](X x) { return ops::conv2d(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), options); };
}

}  // namespace

OpCases conv_cases() {
  return {
      {"conv2d", "bias", {{2, 3, 5, 7}, {2, 3, 3, 2}, {2}}, conv({})},
      {"conv2d", "no bias", {{1, 2, 5, 5}, {3, 2, 3, 3}}, conv({})},
      {"conv2d", "1 x 1", {{2, 3, 3, 5}, {5, 3, 1, 1}, {5}}, conv({})},
      {"conv2d",
       "stride, unequal padding",
       {{2, 3, 7, 5}, {2, 3, 3, 3}, {2}},
       conv({.stride = {2, 3}, .padding = {1, 2}})},
      {"conv2d",
       "dilation",
       {{1, 2, 7, 9}, {3, 2, 2, 3}, {3}},
       conv({.padding = {1, 0}, .dilation = {3, 2}})},
      {"conv2d", "groups", {{2, 6, 5, 3}, {9, 2, 3, 2}, {9}}, conv({.groups = 3})},
      {"conv2d",
       "depthwise, padded",
       {{2, 5, 5, 7}, {5, 1, 3, 3}, {5}},
       conv({.padding = {1, 1}, .groups = 5})},
      {"conv2d",
       "depthwise, stride 2, kernel 5",
       {{1, 3, 7, 7}, {3, 1, 5, 5}, {3}},
       conv({.stride = {2, 2}, .padding = {2, 2}, .groups = 3})},
      {"conv2d", "empty batch", {{0, 3, 5, 5}, {2, 3, 3, 3}, {2}}, conv({})},
      {"conv2d",
       "kernel larger than the image",
       {{2, 2, 2, 3}, {3, 2, 5, 5}, {3}},
       conv({.padding = {2, 2}})},
      {"linear",
       "patch embedding",
       {{2, 3, 4, 6}, {5, 3, 2, 2}, {5}},
       [](X x) { return ops::patch_embed(x[0], x[1], x[2]); }},
      {"linear",
       "patch embedding of pixels",
       {{2, 3, 2, 3}, {5, 3, 1, 1}, {5}},
       [](X x) { return ops::patch_embed(x[0], x[1], x[2]); }},
  };
}

}  // namespace fovea::tests
