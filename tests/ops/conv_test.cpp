// Convolution and patch embedding against the definition; bits; error messages.
#include "ops/conv.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/view.h"

using namespace fovea;
using ops::Conv2dOptions;

namespace {

/// y[b, o, i, j] by the definition, in f64, from packed f64 x and weight.
double expected(const Tensor& x, const Tensor& w, const Conv2dOptions& o,
                const std::array<std::int64_t, 4>& at) {
  const std::int64_t per_group = w.size(1), group = at[1] / (w.size(0) / o.groups);
  double sum = 0;
  for (std::int64_t c = 0; c < per_group; ++c) {
    for (std::int64_t ky = 0; ky < w.size(2); ++ky) {
      for (std::int64_t kx = 0; kx < w.size(3); ++kx) {
        const std::int64_t y = at[2] * o.stride[0] - o.padding[0] + ky * o.dilation[0];
        const std::int64_t z = at[3] * o.stride[1] - o.padding[1] + kx * o.dilation[1];
        if (y < 0 || y >= x.size(2) || z < 0 || z >= x.size(3)) continue;
        const std::int64_t channel = group * per_group + c;
        sum += x.at(((at[0] * x.size(1) + channel) * x.size(2) + y) * x.size(3) + z) *
               w.at(((at[1] * per_group + c) * w.size(2) + ky) * w.size(3) + kx);
      }
    }
  }
  return sum;
}

double worst_error(const Shape& x_shape, const Shape& w_shape, const Conv2dOptions& o,
                   DType dtype) {
  const Tensor x = rand_uniform(x_shape, {-1, 1}, {1}).to(dtype);
  const Tensor w = rand_uniform(w_shape, {-1, 1}, {2}).to(dtype);
  const Tensor bias = rand_uniform({w_shape[0]}, {-1, 1}, {3}).to(dtype);
  const Tensor y = ops::conv2d(x, w, bias, o);
  double worst = 0;
  std::int64_t index = 0;
  for (std::int64_t b = 0; b < y.size(0); ++b) {
    for (std::int64_t c = 0; c < y.size(1); ++c) {
      for (std::int64_t i = 0; i < y.size(2); ++i) {
        for (std::int64_t j = 0; j < y.size(3); ++j, ++index) {
          const double sum = bias.at(c) + expected(x, w, o, {b, c, i, j});
          const double error = std::abs(y.at(index) - sum);
          worst = error <= worst ? worst : error == error ? error : 1e9;
        }
      }
    }
  }
  return worst;
}

double inner(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

}  // namespace

TEST_CASE("convolution equals the definition for every stride, padding and dilation") {
  for (const std::int64_t groups : {1, 2, 4}) {  // dense, grouped, depthwise
    const Shape weight = groups == 4 ? Shape{4, 1, 3, 2} : Shape{6, 4 / groups, 3, 2};
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t padding : {0, 1, 3}) {
        for (const std::int64_t dilation : {1, 2}) {
          const Conv2dOptions o{.stride = {stride, 4 - stride},
                                .padding = {padding, 1},
                                .dilation = {dilation, 2},
                                .groups = groups};
          CAPTURE(groups);
          CAPTURE(stride);
          CAPTURE(padding);
          CAPTURE(dilation);
          CHECK(worst_error({2, 4, 7, 9}, weight, o, DType::f64) < 1e-13);
          CHECK(worst_error({2, 4, 7, 9}, weight, o, DType::f32) < 1e-5);
          CHECK(worst_error({2, 4, 7, 9}, weight, o, DType::bf16) < 4e-2);
        }
      }
    }
  }
}

TEST_CASE("more padding adds zeros below and on the right") {
  const Tensor x = rand_normal({2, 3, 6, 4}, {0, 1}, {21}), bias = rand_normal({4}, {0, 1}, {22});
  const Tensor below = ops::cat({x, zeros({2, 3, 1, 4})}, 2);
  const Tensor padded = ops::cat({below, zeros({2, 3, 7, 2})}, 3);
  for (const std::int64_t groups : {1, 3}) {
    const std::int64_t outputs = groups == 3 ? 3 : 4;
    const Tensor w = rand_normal({outputs, 3 / groups, 3, 3}, {0, 1}, {23});
    const Tensor b = ops::slice(bias, 0, 0, outputs);
    const Tensor got =
        ops::conv2d(x, w, b, {.stride = {2, 2}, .more_padding = {1, 2}, .groups = groups});
    const Tensor expected = ops::conv2d(padded, w, b, {.stride = {2, 2}, .groups = groups});
    CHECK(got.shape() == expected.shape());
    CHECK(got.to_vector() == expected.to_vector());
  }
}

TEST_CASE("a stride beyond the image costs nothing") {
  const Conv2dOptions o{.stride = {std::int64_t{1} << 40, 1 << 20}, .padding = {1, 1}};
  CHECK(worst_error({2, 3, 5, 4}, {2, 3, 3, 3}, o, DType::f64) < 1e-13);
}

TEST_CASE("an image of many rows is worked on in parts") {
  const Conv2dOptions o{.padding = {1, 1}};
  CHECK(worst_error({1, 16, 70, 71}, {3, 16, 3, 3}, o, DType::f32) < 5e-5);
}

TEST_CASE("a large image is worked on in strips, with the same bits for any number of threads") {
  const Conv2dOptions o{.stride = {3, 2}, .padding = {2, 1}, .dilation = {2, 1}};
  CHECK(worst_error({1, 4, 530, 520}, {1, 4, 3, 3}, o, DType::f32) < 5e-5);
  const int before = num_threads();
  const Tensor x = rand_uniform({1, 16, 300, 260}, {-1, 1}, {1});
  const Tensor w = rand_uniform({4, 16, 3, 3}, {-1, 1}, {2});
  std::vector<std::vector<double>> values;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    values.push_back(ops::conv2d(x, w, {}, {.padding = {1, 1}}).to_vector());
  }
  set_num_threads(before);
  CHECK(values[1] == values[0]);
  CHECK(values[2] == values[0]);
}

// <dy, w * x> is linear in both x and w, so it equals <dx, x> and <dw, w>.
TEST_CASE("gradients are adjoint to the forward pass whatever the sizes are cut into") {
  for (const std::int64_t groups : {1, 2}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      const Conv2dOptions o{.stride = {stride, stride}, .padding = {1, 2}, .groups = groups};
      CAPTURE(groups);
      CAPTURE(stride);
      // 3.6 MB of lines each, so that images are taken one by one, and outputs in several panels
      const Tensor x = rand_uniform({3, 34, 113, 115}, {-1, 1}, {1}, {DType::f64});
      const Tensor w = rand_uniform({38, 34 / groups, 3, 2}, {-1, 1}, {2}, {DType::f64});
      for (const Tensor& t : {x, w}) t.set_requires_grad();
      const Tensor y = ops::conv2d(x, w, {}, o);
      const Tensor dy = rand_uniform(y.shape(), {-1, 1}, {3}, {DType::f64});
      backward(y, dy);
      const double product = inner(dy, y);
      CHECK(inner(x.grad(), x) == doctest::Approx(product).epsilon(1e-9));
      CHECK(inner(w.grad(), w) == doctest::Approx(product).epsilon(1e-9));
    }
  }
}

TEST_CASE("patch embedding is the convolution whose stride is its kernel") {
  const Tensor x = rand_uniform({2, 3, 6, 8}, {-1, 1}, {1}),
               w = rand_uniform({5, 3, 3, 2}, {-1, 1}, {2});
  const Tensor bias = rand_uniform({5}, {-1, 1}, {3});
  const Tensor tokens = ops::patch_embed(x, w, bias);               // [2, 8, 5]
  const Tensor maps = ops::conv2d(x, w, bias, {.stride = {3, 2}});  // [2, 5, 2, 4]
  REQUIRE(tokens.shape() == Shape{2, 8, 5});
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t n = 0; n < 8; ++n) {
      for (std::int64_t d = 0; d < 5; ++d) {
        CHECK(tokens.at((b * 8 + n) * 5 + d) ==
              doctest::Approx(maps.at((b * 5 + d) * 8 + n)).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("values and gradients have the same bits for any number of threads") {
  const int before = num_threads();
  const auto bytes = [](int threads, std::int64_t batch, std::int64_t groups) {
    set_num_threads(threads);
    const Tensor x = rand_uniform({batch, 16, 33, 31}, {-1, 1}, {1});
    const Tensor w = rand_uniform({16, 16 / groups, 3, 3}, {-1, 1}, {2});
    const Tensor bias = rand_uniform({16}, {-1, 1}, {3});
    for (const Tensor& t : {x, w, bias}) t.set_requires_grad();
    const Tensor y = ops::conv2d(x, w, bias, {.padding = {1, 1}, .groups = groups});
    backward(y, rand_uniform(y.shape(), {-1, 1}, {4}));
    std::vector<double> all = y.to_vector();
    for (const Tensor& t : {x, w, bias}) {
      const std::vector<double> grad = t.grad().to_vector();
      all.insert(all.end(), grad.begin(), grad.end());
    }
    return all;
  };
  for (const std::int64_t groups : {1, 4, 16}) {
    CHECK(bytes(1, 5, groups) == bytes(3, 5, groups));
    CHECK(bytes(1, 2, groups) == bytes(3, 2, groups));  // more threads than images
  }
  set_num_threads(before);
}

TEST_CASE("convolution refuses what does not fit, by name") {
  const Tensor x = zeros({2, 3, 5, 5}), w = zeros({4, 3, 3, 3});
  CHECK_THROWS_WITH_AS((void)ops::conv2d(x, zeros({4, 3, 6, 3}), {}),
                       "conv2d: the kernel covers 6 positions, but the padded input has 5", Error);
  CHECK_THROWS_WITH_AS((void)ops::conv2d(x, w, zeros({3})), "conv2d: got bias [3], expected [4]",
                       Error);
  CHECK_THROWS_AS((void)ops::conv2d(x, w, {}, {.stride = {0, 1}}), Error);
  CHECK_THROWS_AS((void)ops::conv2d(x, w, {}, {.padding = {-1, 0}}), Error);
  CHECK_THROWS_AS((void)ops::conv2d(x, w, {}, {.groups = 2}), Error);
  CHECK_THROWS_AS((void)ops::conv2d(x, w, {}, {.groups = 0}), Error);
  CHECK_THROWS_AS((void)ops::conv2d(zeros({3, 5, 5}), w, {}), Error);
  CHECK_THROWS_AS((void)ops::conv2d(x.to(DType::f64), w, {}), Error);
  CHECK_THROWS_AS((void)ops::conv2d(x, zeros({4, 3, 0, 3}), {}), Error);
  CHECK_THROWS_WITH_AS((void)ops::patch_embed(x, zeros({4, 3, 2, 2}), {}),
                       "patch_embed: images [2, 3, 5, 5] are not divisible into patches of 2 x 2",
                       Error);
}

namespace {

/// depthwise_tokens by way of conv2d on planes, in f64.
double worst_token_error(std::int64_t kernel, const ops::DepthwiseTokensOptions& o, DType dtype) {
  const std::int64_t B = 3, D = 21, N = o.grid[0] * o.grid[1], L = o.prefix + N;
  const Tensor x = rand_uniform({B, L, D}, {-1, 1}, {1}).to(dtype);
  const Tensor w = rand_uniform({D, 1, kernel, kernel}, {-1, 1}, {2}).to(dtype);
  const Tensor bias = rand_uniform({D}, {-1, 1}, {3}).to(dtype);
  const Tensor y = ops::depthwise_tokens(x, w, bias, o);
  const Tensor planes = empty({B, D, o.grid[0], o.grid[1]}, {DType::f64, {}});
  planes.copy_(x.alias(planes.shape(), {L * D, 1, o.grid[1] * D, D}, o.prefix * D));
  const Tensor conv = ops::conv2d(planes, w.to(DType::f64), bias.to(DType::f64),
                                  {.padding = {o.padding, o.padding}, .groups = D});
  const std::int64_t height = conv.size(2), width = conv.size(3), margin = kernel / 2 - o.padding;
  REQUIRE(y.shape() == Shape{B, o.prefix + height * width, D});
  double worst = 0;
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const std::int64_t c = i % D, token = i / D % y.size(1), b = i / D / y.size(1);
    double sum = x.at((b * L + token) * D + c);
    if (token >= o.prefix) {
      const std::int64_t row = (token - o.prefix) / width, column = (token - o.prefix) % width;
      sum = conv.at(((b * D + c) * height + row) * width + column);
      if (o.residual) {
        const std::int64_t from = (row + margin) * o.grid[1] + column + margin;
        sum += x.at((b * L + o.prefix + from) * D + c);
      }
    }
    worst = std::max(worst, std::abs(y.at(i) - sum));
  }
  return worst;
}

}  // namespace

TEST_CASE("the convolution of tokens is that of planes, prefix and residual apart") {
  for (const std::int64_t kernel : {1, 3, 5}) {
    for (const bool padded : {true, false}) {
      for (const bool residual : {true, false}) {
        const ops::DepthwiseTokensOptions o{{5, 11}, kernel - 1, padded ? kernel / 2 : 0, residual};
        CAPTURE(kernel);
        CAPTURE(padded);
        CAPTURE(residual);
        CHECK(worst_token_error(kernel, o, DType::f64) < 1e-13);
        CHECK(worst_token_error(kernel, o, DType::f32) < 1e-5);
        CHECK(worst_token_error(kernel, o, DType::bf16) < 4e-2);
      }
    }
  }
}

TEST_CASE("the convolution of tokens has the same bits for any number of threads") {
  const auto bits = [](int threads) {
    const int before = num_threads();
    set_num_threads(threads);
    const Tensor x = rand_normal({37, 1 + 30, 19}, {0, 1}, {1}).set_requires_grad();
    const Tensor w = rand_normal({19, 1, 3, 3}, {0, 1}, {2}).set_requires_grad();
    const Tensor bias = rand_normal({19}, {0, 1}, {3}).set_requires_grad();
    const Tensor y = ops::depthwise_tokens(x, w, bias, {{5, 6}, 1, 1, true});
    backward(y, rand_normal(y.shape(), {0, 1}, {4}));
    std::vector<double> all = y.to_vector();
    for (const Tensor& g : {x.grad(), w.grad(), bias.grad()}) {
      const std::vector<double> more = g.to_vector();
      all.insert(all.end(), more.begin(), more.end());
    }
    set_num_threads(before);
    return all;
  };
  CHECK(bits(1) == bits(3));
}

TEST_CASE("impossible convolutions of tokens are errors by name") {
  const auto message = [](const Shape& x, const Shape& w, const ops::DepthwiseTokensOptions& o) {
    try {
      static_cast<void>(ops::depthwise_tokens(zeros(x), zeros(w), {}, o));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  CHECK(message({1, 6, 4}, {4, 1, 3, 3}, {{2, 3}, 0, 1, true}) == "no error");
  CHECK(message({1, 7, 4}, {4, 1, 3, 3}, {{2, 3}, 0, 1}) ==
        "depthwise_tokens: got x [1, 7, 4] for a grid of 2x3 after 0 tokens");
  CHECK(message({1, 6, 4}, {5, 1, 3, 3}, {{2, 3}, 0, 1}).find("expected [4, 1, kh, kw]") !=
        std::string::npos);
  CHECK(message({1, 6, 4}, {4, 1, 3, 3}, {{2, 3}}).find("does not fit a grid of 2x3") !=
        std::string::npos);
  CHECK(message({1, 6, 4}, {4, 1, 2, 2}, {{2, 3}, 0, 1, true}).find("square odd kernel") !=
        std::string::npos);
}
