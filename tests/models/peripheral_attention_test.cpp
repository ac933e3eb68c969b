// PerViT's attention by itself: what Phi_p is in a new model, and that log Phi_p as an additive
// bias is the paper's product.
#include "models/layers/peripheral_attention.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/random.h"
#include "models/layers/tokens.h"
#include "ops/activation.h"
#include "ops/conv.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "tests/models/outputs.h"
#include "tests/support/f64.h"

using namespace fovea;
using tests::worst_difference;

TEST_CASE("the position attention of a new model has the values of the official code") {
  const PositionConfig c;  // 14x14, four heads
  struct Row {
    std::int64_t block;
    double centre, corner, mean, omega;
  };
  for (const Row& row : {Row{0, 0.949159, 0.000446, 0.110009, 0.039785},
                         Row{1, 0.953772, 0.001291, 0.130511, 0.051766},
                         Row{4, 0.965334, 0.030521, 0.247415, 0.146606},
                         Row{5, 0.968528, 0.083618, 0.329921, 0.234894},
                         Row{8, 0.976490, 0.689630, 0.795929, 0.845721},
                         Row{11, 0.982475, 0.981853, 0.982013, 1.099890}}) {
    INFO("block ", row.block);
    ParameterStore store(1, kF64);
    const RelativeEncoding relative(Scope(store), c);
    PositionAttention position(Scope(store) / "activation", c, relative, {row.block, 12});
    const std::vector<double> log_phi = position().to_vector();  // [4, 196, 196]
    const std::size_t N = 196, q = 7 * 14 + 7;
    double mean = 0, omega = 0;
    for (std::size_t i = 0; i < log_phi.size(); ++i) {
      const auto query = static_cast<double>(i / N % N), key = static_cast<double>(i % N);
      const double y = std::floor(query / 14) - std::floor(key / 14);
      const double x = std::fmod(query, 14) - std::fmod(key, 14);
      mean += std::exp(log_phi[i]) / (4 * N * N);
      omega += std::exp(log_phi[i]) * std::hypot(y, x) * 2 / 13 / (4 * N * N);
    }
    for (std::size_t head = 0; head < 4; ++head) {
      CHECK(std::abs(std::exp(log_phi[(head * N + q) * N + q]) - row.centre) < 1e-6);
      CHECK(std::abs(std::exp(log_phi[(head * N + q) * N]) - row.corner) < 1e-6);
    }
    CHECK(std::abs(mean - row.mean) < 1e-6);
    CHECK(std::abs(omega - row.omega) < 1e-6);
  }
}

TEST_CASE("the additive form is the paper's product, and its rows sum to one") {
  const std::int64_t N = 5, H = 2, d = 3;
  const Tensor qkv = rand_normal({2, N, 3 * H * d}, {0, 2}, {1}, kF64);
  const Tensor z = rand_normal({H, N, N}, {0, 3}, {2}, kF64);
  const auto part = [&](std::int64_t index) {
    const Tensor x = ops::slice(qkv, 2, index * H * d, (index + 1) * H * d);
    return ops::permute(ops::reshape(x, {2, N, H, d}), {0, 2, 1, 3});
  };
  const Tensor s = ops::matmul(part(0), part(1), {.b = true}) * (1 / std::sqrt(3.0));
  const Tensor phi = ops::exp(s - ops::max(s, -1, true)) * ops::sigmoid(z);
  const Tensor attention = ops::l1_normalize(phi, -1);
  const Tensor y = ops::permute(ops::matmul(attention, part(2)), {0, 2, 1, 3});
  const Tensor fused = ops::self_attention(qkv, H, ops::logsigmoid(z));
  CHECK(worst_difference(y.contiguous().to_vector(), fused.to_vector()) < 1e-14);

  const Tensor constant =
      ops::cat({ops::slice(qkv, 2, 0, 2 * H * d), ones({2, N, H * d}, kF64)}, 2);
  for (const double sum : ops::self_attention(constant, H, ops::logsigmoid(z)).to_vector()) {
    CHECK(std::abs(sum - 1) < 1e-14);
  }
}

TEST_CASE("with one offset per head and nine heads, peripheral attention is a 3x3 convolution") {
  const std::int64_t n = 4, N = n * n, H = 9, d = 2, D = H * d;
  const Tensor qkv = rand_normal({2, N, 3 * D}, {0, 1}, {1}, kF64);
  std::vector<double> log_phi(static_cast<std::size_t>(H * N * N), -INFINITY);
  for (std::int64_t head = 0; head < H; ++head) {
    for (std::int64_t q = 0; q < N; ++q) {
      const std::int64_t y = q / n + head / 3 - 1, x = q % n + head % 3 - 1;
      if (y < 0 || y >= n || x < 0 || x >= n) continue;  // all masked: zero, as padding gives
      log_phi[static_cast<std::size_t>((head * N + q) * N + y * n + x)] = 0;
    }
  }
  const Tensor proj = rand_normal({5, D}, {0, 1}, {2}, kF64);
  const Tensor mixed = ops::self_attention(qkv, H, from_values({H, N, N}, log_phi, kF64));
  const Tensor by_attention = ops::linear(mixed, proj);  // [2, N, 5]

  // Tap `head` of the convolution reads that head's channels of v and no others.
  const Tensor v = tokens_to_map(ops::slice(qkv, 2, 2 * D, 3 * D), n, n);
  std::vector<double> weight(static_cast<std::size_t>(5 * D * 9), 0);
  for (std::int64_t i = 0; i < 5 * D; ++i) {
    weight[static_cast<std::size_t>(i * 9 + i % D / d)] = proj.at(i);
  }
  const Tensor by_convolution =
      ops::conv2d(v, from_values({5, D, 3, 3}, weight, kF64), {}, {.padding = {1, 1}});
  CHECK(worst_difference(by_attention.to_vector(),
                         map_to_tokens(by_convolution).contiguous().to_vector()) < 1e-13);
}
