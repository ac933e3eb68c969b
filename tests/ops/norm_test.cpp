// Normalisations: statistics, running statistics, constant rows, mixed dtypes, error messages.
#include "ops/norm.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/f64.h"
#include "tests/support/values.h"

using namespace fovea;
using doctest::Approx;

namespace {

/// Mean and biased deviation of `n` values from `first` on.
std::pair<double, double> moments(const Tensor& x, std::int64_t first, std::int64_t n) {
  double mean = 0, variance = 0;
  for (std::int64_t i = first; i < first + n; ++i) mean += x.at(i) / static_cast<double>(n);
  for (std::int64_t i = first; i < first + n; ++i) {
    variance += (x.at(i) - mean) * (x.at(i) - mean) / static_cast<double>(n);
  }
  return {mean, std::sqrt(variance)};
}

}  // namespace

TEST_CASE("layer norm gives rows of mean 0 and deviation 1, also far from zero") {
  for (const std::int64_t width : {5, 16, 64, 67, 192, 1024}) {
    CAPTURE(width);
    const Tensor y = ops::layer_norm(rand_normal({3, width}, {1000, 2}, {1}), {}, {});
    for (std::int64_t row = 0; row < 3; ++row) {
      const auto [mean, deviation] = moments(y, row * width, width);
      CHECK(std::abs(mean) < 1e-4);
      CHECK(deviation == Approx(1).epsilon(1e-4));
    }
  }
}

TEST_CASE("a constant row gives the bias, and finite gradients") {
  const Tensor x = full({2, 7}, 0.7), weight = full({7}, 3), bias = full({7}, 0.25);
  x.set_requires_grad();
  weight.set_requires_grad();
  const Tensor y = ops::layer_norm(x, weight, bias);
  for (const double v : y.to_vector()) CHECK(v == Approx(0.25).epsilon(1e-3));
  backward(y, rand_normal({2, 7}, {0, 1}, {2}));
  for (const double g : x.grad().to_vector()) CHECK(std::isfinite(g));
  for (const double g : weight.grad().to_vector()) CHECK(std::isfinite(g));
}

TEST_CASE("layer norm per image has the bits of one layer norm for each image") {
  const std::int64_t B = 3, N = 67, C = 35;
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    CAPTURE(dtype);
    const auto leaf = [&](const Shape& shape, std::uint64_t stream) {
      return rand_normal(shape, {0, 1}, {3, stream}).to(dtype).detach().set_requires_grad();
    };
    const Tensor x = leaf({B, N, C}, 1), weight = leaf({B, C}, 2), bias = leaf({B, C}, 3);
    const Tensor dy = rand_normal({B, N, C}, {0, 1}, {4}).to(dtype);
    const Tensor y = ops::layer_norm(x, weight, bias);
    backward(y, dy);
    for (std::int64_t image = 0; image < B; ++image) {
      const auto own = [&](const Tensor& t) {
        return ops::select(t.detach(), 0, image).clone().set_requires_grad();
      };
      const Tensor one = own(x), w = own(weight), b = own(bias), z = ops::layer_norm(one, w, b);
      backward(z, own(dy).detach());
      const auto same = [&](const Tensor& all, const Tensor& single) {
        CHECK(ops::select(all, 0, image).to_vector() == single.to_vector());
      };
      same(y.detach(), z.detach());
      same(x.grad(), one.grad());
      same(weight.grad(), w.grad());
      same(bias.grad(), b.grad());
    }
  }
}

TEST_CASE("rms norm gives rows of mean square 1, without centring") {
  for (const std::int64_t width : {5, 16, 64, 67, 192, 1024}) {
    CAPTURE(width);
    const Tensor y = ops::rms_norm(rand_normal({3, width}, {10, 2}, {1}), {});
    for (std::int64_t row = 0; row < 3; ++row) {
      const auto [mean, deviation] = moments(y, row * width, width);
      CHECK(mean > 0.9);
      CHECK(mean * mean + deviation * deviation == Approx(1).epsilon(1e-5));
    }
  }
}

TEST_CASE("rms norm of zeros is zero, with the gradient of x / sqrt(eps)") {
  const Tensor x = zeros({2, 7}, kF64).set_requires_grad();
  const Tensor y = ops::rms_norm(x, {}, {1e-4});
  CHECK(y.to_vector() == Values(14, 0.0));
  backward(y, ones({2, 7}, kF64));
  for (const double g : x.grad().to_vector()) CHECK(g == Approx(100));
}

TEST_CASE("rms norm is layer norm of rows whose mean is 0") {
  const Tensor half = rand_normal({5, 9}, {0, 1}, {1}, kF64);
  const Tensor x = ops::cat({half, -half}, 1);
  const Tensor weight = rand_normal({18}, {1, 1}, {2}, kF64);
  const Values rms = ops::rms_norm(x, weight, {1e-3}).to_vector();
  const Values centred = ops::layer_norm(x, weight, {}, {1e-3}).to_vector();
  for (std::size_t i = 0; i < rms.size(); ++i) CHECK(rms[i] == Approx(centred[i]));
}

TEST_CASE("the statistics of bf16 rows are f32 in rms norm") {
  const Tensor x = full({1, 4096}, 3, {DType::bf16, {}});  // a bf16 sum of squares would stop
  CHECK(ops::rms_norm(x, {}, {0}).to_vector() == Values(4096, 1.0));
}

TEST_CASE("f32 parameters beside bf16 activations get f32 gradients") {
  const Tensor x = rand_normal({5, 7}, {0, 1}, {1}).to(DType::bf16);
  const Tensor weight = ones({7}), bias = zeros({7});
  for (const Tensor& t : {x, weight, bias}) t.set_requires_grad();
  const Tensor y = ops::layer_norm(x, weight, bias);
  CHECK(y.dtype() == DType::bf16);
  backward(y, ones({5, 7}, {DType::bf16, {}}));
  CHECK(x.grad().dtype() == DType::bf16);
  CHECK(weight.grad().dtype() == DType::f32);
  CHECK(bias.grad().to_vector() == Values(7, 5.0));
}

TEST_CASE("f32 rows are normalised to bf16 in one pass as in two") {
  for (const std::int64_t width : {5, 67, 192}) {
    const Tensor dy = rand_normal({9, width}, {0, 1}, {4}).to(DType::bf16);
    std::vector<Values> rows[2], gradients[2];
    for (const bool in_one : {false, true}) {
      const Tensor x = rand_normal({9, width}, {3, 2}, {1}).set_requires_grad();
      const Tensor weight = rand_normal({width}, {1, 1}, {2}).set_requires_grad();
      const Tensor bias = rand_normal({width}, {0, 1}, {3}).set_requires_grad();
      const ops::RowNormOptions options{1e-6, in_one ? DType::bf16 : DType::f32};
      for (const Tensor& y :
           {ops::layer_norm(x, weight, bias, options), ops::rms_norm(x, weight, options)}) {
        CHECK((y.dtype() == DType::bf16) == in_one);
        const Tensor z = y.to(DType::bf16);
        backward(z, dy);
        rows[in_one].push_back(z.to_vector());
        for (const Tensor& t : {x.grad(), weight.grad(), bias.grad()})
          gradients[in_one].push_back(t.to_vector());
      }
    }
    CHECK(rows[0] == rows[1]);
    // The compiler decides for each of the two kernels which product of a sum it fuses.
    for (std::size_t t = 0; t < gradients[0].size(); ++t) {
      for (std::size_t i = 0; i < gradients[0][t].size(); ++i)
        CHECK(gradients[1][t][i] == Approx(gradients[0][t][i]).epsilon(1e-6));
    }
  }
}

TEST_CASE("rows are normalised to any other dtype in two passes") {
  const Tensor x = rand_normal({2, 6}, {0, 1}, {1});
  const Tensor y = ops::layer_norm(x, {}, {}, {1e-6, DType::f64});
  CHECK(y.dtype() == DType::f64);
  CHECK(y.to_vector() == ops::layer_norm(x, {}, {}).to_vector());
  CHECK(ops::rms_norm(x.to(kF64.dtype), {}, {1e-6, DType::f32}).dtype() == DType::f32);
}

TEST_CASE("what reads a normalised row in bf16 has the gradient of the stored row") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor x = rand_normal({7, 67}, {3, 2}, {1}).to(dtype).set_requires_grad();
    const Tensor weight = rand_normal({2, 67}, {1, 1}, {2}),
                 bias = rand_normal({2, 67}, {0, 1}, {3});
    const Tensor images = rand_normal({2, 5, 67}, {3, 2}, {1}).to(dtype).set_requires_grad();
    for (const Tensor& y :
         {ops::layer_norm(images, weight, bias, {1e-6, DType::bf16}),
          ops::layer_norm(x, {}, {}, {1e-2, DType::bf16}),
          ops::rms_norm(x, ops::slice(weight, 0, 0, 1).alias({67}, {1}), {1e-6, DType::bf16})}) {
      const Tensor again = rand_normal({3, 67}, {0, 1}, {5}).set_requires_grad();
      const Tensor stored = again.detach().clone().set_requires_grad();
      backward(ops::sum(ops::linear(y, again)), {}, Tape::kept);
      backward(ops::sum(ops::linear(y.clone(), stored)), {}, Tape::kept);
      CHECK(again.grad().to_vector() == stored.grad().to_vector());
    }
  }
}

TEST_CASE("1 thread and 2 threads give the same bits") {
  const int before = num_threads();
  std::vector<Values> results[2];
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    std::vector<Values>& bits = results[threads - 1];
    const Tensor x = rand_normal({1031, 67}, {0, 1}, {1}), weight = rand_normal({67}, {1, 1}, {2});
    x.set_requires_grad();
    weight.set_requires_grad();
    backward(ops::layer_norm(x, weight, {}), rand_normal({1031, 67}, {0, 1}, {3}));
    backward(ops::rms_norm(x, weight), rand_normal({1031, 67}, {0, 1}, {7}));
    const Tensor maps = rand_normal({31, 5, 17, 19}, {0, 1}, {4});
    const Tensor scale = rand_normal({5}, {1, 1}, {5});
    maps.set_requires_grad();
    scale.set_requires_grad();
    const Tensor mean = zeros({5}), variance = ones({5});
    const Tensor y = ops::batch_norm(maps, {scale}, {mean, variance}, {.training = true});
    backward(y, rand_normal(maps.shape(), {0, 1}, {6}));
    for (const Tensor& t : {x.grad(), weight.grad(), y, maps.grad(), scale.grad(), mean, variance})
      bits.push_back(t.to_vector());
  }
  set_num_threads(before);
  for (std::size_t i = 0; i < results[0].size(); ++i) CHECK(results[0][i] == results[1][i]);
}

TEST_CASE("batch norm moves the running statistics towards the batch, with the unbiased variance") {
  const Tensor x = from_values({2, 1, 2}, {1, 2, 3, 6});  // mean 3, squares 14
  const Tensor mean = full({1}, 10), variance = full({1}, 2);
  const std::uint64_t version = mean.version();
  (void)ops::batch_norm(x, {}, {mean, variance}, {.training = true, .momentum = 0.25});
  CHECK(mean.item() == Approx(0.75 * 10 + 0.25 * 3));
  CHECK(variance.item() == Approx(0.75 * 2 + 0.25 * 14.0 / 3));
  CHECK(mean.version() > version);
}

TEST_CASE("batch norm in evaluation uses the running statistics and leaves them alone") {
  const Tensor x = from_values({1, 2}, {5, 5}, kF64);
  const Tensor mean = from_values({2}, {1, 5}, kF64), variance = from_values({2}, {4, 1}, kF64);
  const Tensor y = ops::batch_norm(x, {}, {mean, variance}, {.training = false, .eps = 0});
  CHECK(y.to_vector() == Values{2, 0});
  CHECK(mean.to_vector() == Values{1, 5});
}

TEST_CASE("group norm with silu is group norm and then silu, forward and backward") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto run = [&](bool fused) {
      const Tensor x = rand_normal({2, 6, 5, 7}, {1, 2}, {11}).to(dtype).set_requires_grad();
      const Tensor weight = rand_normal({6}, {1, 1}, {12}).set_requires_grad();
      const Tensor bias = rand_normal({6}, {0, 1}, {13}).set_requires_grad();
      const ops::Affine affine{weight, bias};
      const Tensor y = fused ? ops::group_norm_silu(x, 3, affine, 1e-6)
                             : ops::silu(ops::group_norm(x, 3, affine, 1e-6));
      backward(ops::sum(y * rand_normal(y.shape(), {0, 1}, {14}).to(dtype)));
      return std::vector{y.to_vector(), x.grad().to_vector(), weight.grad().to_vector(),
                         bias.grad().to_vector()};
    };
    CHECK(run(true) == run(false));
  }
}

TEST_CASE("batch norm with relu is batch norm and then relu, forward and backward") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    CAPTURE(to_string(dtype));
    const DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
    std::vector<Values> results[2];
    for (const bool fused : {false, true}) {
      const Tensor x = rand_normal({3, 4, 9, 11}, {0, 1}, {1}).to(dtype).set_requires_grad();
      const Tensor weight = rand_normal({4}, {0, 1}, {2}).to(statistics).set_requires_grad();
      const Tensor bias = rand_normal({4}, {0, 1}, {3}).to(statistics).set_requires_grad();
      const Tensor mean = zeros({4}), variance = ones({4});
      const Tensor z =
          ops::batch_norm(x, {weight, bias}, {mean, variance}, {.training = true, .relu = fused});
      const Tensor y = fused ? z : ops::relu(z);
      backward(y, rand_normal(x.shape(), {0, 1}, {4}).to(dtype));
      for (const Tensor& t : {y, x.grad(), weight.grad(), bias.grad(), mean, variance})
        results[fused].push_back(t.to_vector());
    }
    CHECK(results[0] == results[1]);
  }
}

TEST_CASE("instance norm is group norm with one channel per group") {
  const Tensor x = rand_normal({2, 3, 5, 7}, {0, 1}, {1}), weight = rand_normal({3}, {0, 1}, {2});
  CHECK(ops::instance_norm(x, weight, {}).to_vector() ==
        ops::group_norm(x, 3, {weight}).to_vector());
}

TEST_CASE("one group is the layer norm of an image") {
  const Tensor x = rand_normal({2, 3, 5}, {0, 1}, {1}, kF64);
  const Values grouped = ops::group_norm(x, 1, {}, 1e-5).to_vector();
  const Values rows = ops::layer_norm(x.alias({2, 15}, {15, 1}), {}, {}, {1e-5}).to_vector();
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(grouped[i] == Approx(rows[i]));
}

TEST_CASE("errors of normalisations") {
  const Tensor x = zeros({2, 6});
  CHECK_THROWS_WITH_AS((void)ops::layer_norm(x, ones({5}), {}),
                       "layer_norm: got weight of shape [5], expected [6]", Error);
  CHECK_THROWS_WITH_AS((void)ops::layer_norm(x, {}, zeros({1, 6})),
                       "layer_norm: got bias of shape [1, 6], expected [6]", Error);
  CHECK_THROWS_WITH_AS((void)ops::layer_norm(x, ones({2, 6}), zeros({6})),
                       "layer_norm: got x [2, 6] with a weight or bias [6] beside the other for "
                       "each image, expected both [2, 6]",
                       Error);
  CHECK_THROWS_WITH_AS((void)ops::rms_norm(x, ones({5})),
                       "rms_norm: got weight of shape [5], expected [6]", Error);
  CHECK_THROWS_WITH_AS((void)ops::rms_norm(zeros({}), {}),
                       "rms_norm: got a scalar, expected [..., C]", Error);
  CHECK_THROWS_WITH_AS((void)ops::rms_norm(zeros({2}, {DType::i64, {}}), {}),
                       "rms_norm: got dtype i64, expected f64, f32 or bf16", Error);
  CHECK_THROWS_WITH_AS((void)ops::group_norm(x, 4, {}),
                       "group_norm: got 4 groups for 6 channels, expected a divisor", Error);
  CHECK_THROWS_WITH_AS((void)ops::instance_norm(zeros({3}), {}, {}),
                       "instance_norm: got shape [3], expected [B, C, ...]", Error);
  CHECK_THROWS_WITH_AS((void)ops::batch_norm(x, {}, {}, {}),
                       doctest::Contains("batch_norm: got no running statistics"), Error);
  CHECK_THROWS_WITH_AS(
      (void)ops::batch_norm(zeros({1, 6}), {}, {zeros({6}), ones({6})}, {.training = true}),
      doctest::Contains("batch_norm: got one value per channel (shape [1, 6])"), Error);
}
