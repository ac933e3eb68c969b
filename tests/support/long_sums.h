// Sums that stop growing, or lose digits, if all their terms are added one after the other in f32:
// 2^24 and then ones, none of which changes it. On the device of a test.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "ops/ops.h"

namespace fovea::tests {

/// What an op gives for `terms`, a vector of f32 on a device, as their sum.
struct LongSum {
  std::string name;
  std::int64_t terms;
  std::function<double(const Tensor& terms)> sum;
};

/// The gradient of `leaf` in y, whose upstream gradient is `terms`.
inline double gradient_at(const Tensor& leaf, const Tensor& y, const Tensor& terms) {
  backward(y, ops::reshape(terms, y.shape()));
  return leaf.grad().at(0);
}

/// A convolution of x [1, channels, 1, terms] by one pixel, whose first output has `terms` as its
/// upstream gradient.
struct PixelConvolution {
  Tensor weight, bias;

  PixelConvolution(const Tensor& terms, std::int64_t outputs) {
    const TensorOptions on = terms.options();
    const std::int64_t n = terms.numel();
    weight = ones({outputs, 1, 1, 1}, on).set_requires_grad();
    bias = zeros({outputs}, on).set_requires_grad();
    const Tensor y = ops::conv2d(ones({1, 1, 1, n}, on), weight, bias);
    const Tensor dy = zeros(y.shape(), on);
    ops::select(dy, 1, 0).copy_(ops::reshape(terms, {1, 1, n}));
    backward(y, dy);
  }
};

inline Tensor as_image(const Tensor& terms, std::int64_t side) {
  return ops::reshape(terms, {1, 1, side, side});
}

/// A filter as large as the image, all ones.
inline double whole_image(const Tensor& terms, std::int64_t side, std::int64_t outputs) {
  const Tensor weight = ones({outputs, 1, side, side}, terms.options());
  return ops::conv2d(as_image(terms, side), weight, {}).at(0);
}

inline std::vector<LongSum> long_sums() {
  constexpr std::int64_t kSide = 113, kImage = kSide * kSide;
  constexpr std::int64_t kOfThread = 3 << 12, kOfBlock = 128 * kOfThread;
  return {
      {"bias of a dense convolution", kOfBlock,
       [](const Tensor& t) { return PixelConvolution(t, 2).bias.grad().at(0); }},
      {"filter of a dense convolution", kOfThread,
       [](const Tensor& t) { return PixelConvolution(t, 2).weight.grad().at(0); }},
      {"bias of a depthwise convolution", kOfBlock,
       [](const Tensor& t) { return PixelConvolution(t, 1).bias.grad().at(0); }},
      {"filter of a depthwise convolution", kOfBlock,
       [](const Tensor& t) { return PixelConvolution(t, 1).weight.grad().at(0); }},
      {"filter of a depthwise convolution of tokens", kOfThread,
       [](const Tensor& t) {
         const std::int64_t n = t.numel();
         const Tensor weight = ones({1, 1, 1, 1}, t.options()).set_requires_grad();
         return gradient_at(
             weight,
             ops::depthwise_tokens(ones({1, n, 1}, t.options()), weight, {}, {.grid = {n, 1}}), t);
       }},
      {"embedding", kOfThread,
       [](const Tensor& t) {
         const Tensor table = ones({2, 1}, t.options()).set_requires_grad();
         return gradient_at(table,
                            ops::embedding(table, zeros({t.numel()}, {DType::i64, t.device()})), t);
       }},
      {"index_select", kOfThread,
       [](const Tensor& t) {
         const Tensor x = ones({2}, t.options()).set_requires_grad();
         return gradient_at(
             x, ops::index_select(x, 0, zeros({t.numel()}, {DType::i64, t.device()})), t);
       }},
      {"nearest upsampling", kImage,
       [](const Tensor& t) {
         const Tensor x = ones({1, 1, 1, 1}, t.options()).set_requires_grad();
         return gradient_at(x, ops::upsample_nearest(x, kSide), t);
       }},
      {"average pooling", kImage,
       [](const Tensor& t) {
         const Tensor mean = ops::avg_pool2d(as_image(t, kSide), {.kernel = {kSide, kSide}});
         return mean.at(0) * static_cast<double>(kImage);
       }},
      {"dense convolution of a whole image", kImage,
       [](const Tensor& t) { return whole_image(t, kSide, 2); }},
      {"depthwise convolution of a whole image", kImage,
       [](const Tensor& t) { return whole_image(t, kSide, 1); }},
  };
}

/// 2^24 and then ones.
inline Tensor long_terms(std::int64_t count, Device device) {
  const Tensor terms = ones({count}, {DType::f32, {}});
  ops::slice(terms, 0, 0, 1).fill_(0x1p24);
  return terms.to(device);
}

/// How many of the ones a sum has lost. A run of the kernels may lose its own: the terms that
/// follow 2^24 in it.
inline double lost(const LongSum& sum, Device device) {
  const double right = 0x1p24 + static_cast<double>(sum.terms - 1);
  return right - sum.sum(long_terms(sum.terms, device));
}
inline constexpr double kMostLost = 1100;

}  // namespace fovea::tests
