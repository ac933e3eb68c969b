// Noising, the posterior and the hybrid loss, against plain formulas in f64.
#include "models/diffusion/process.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/diffusion/loss.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"

namespace fovea {
namespace {

Tensor steps_of(std::initializer_list<double> t) {
  return from_values({static_cast<std::int64_t>(t.size())}, t, {DType::i64, {}});
}

Tensor normal(const Shape& shape, std::uint64_t seed) {
  return rand_normal(shape, {0, 1}, {seed}, kF64);
}

void check_process_value(double value, double expected) {
  CHECK(value == doctest::Approx(expected).epsilon(1e-11));
}

/// A batch of images at steps of the process and a model's output with learned variances.
struct Case {
  DiffusionProcess process;
  NoisedImages images{rand_uniform({4, 2, 2, 2}, {-1.2, 1.2}, {1}, kF64),
                      steps_of({0, 1, 400, 999}), normal({4, 2, 2, 2}, 2)};
  Tensor output = normal({4, 4, 2, 2}, 3) * 0.3;
};

/// -log2 of the probability of the level around x under a Gaussian, by the official formula.
double decoder_bits(double x, double mean, double log_variance) {
  const auto cdf = [](double v) {
    return 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  };
  const double s = std::exp(-0.5 * log_variance);
  const double upper = cdf(s * (x - mean + 1.0 / 255)), lower = cdf(s * (x - mean - 1.0 / 255));
  const double p = x < -0.999 ? upper : x > 0.999 ? 1 - lower : upper - lower;
  return -std::log(std::max(p, 1e-12)) / std::log(2.0);
}

double kl_bits(double mean1, double log_variance1, double mean2, double log_variance2) {
  const double difference = mean1 - mean2;
  return 0.5 *
         (-1 + log_variance2 - log_variance1 + std::exp(log_variance1 - log_variance2) +
          difference * difference * std::exp(-log_variance2)) /
         std::log(2.0);
}

/// The bound's term of one value, by way of x_t, the predicted image and both posteriors.
double bound_bits(const StepCoefficients& c, bool is_last, double x0, double noise, double eps,
                  double v) {
  const double xt = c.sqrt_alphas_cumprod * x0 + c.sqrt_one_minus_alphas_cumprod * noise;
  const double guess = c.sqrt_recip_alphas_cumprod * xt - c.sqrt_recipm1_alphas_cumprod * eps;
  const double f = (v + 1) / 2;
  const double log_variance = f * c.log_beta + (1 - f) * c.posterior_log_variance;
  const double mean = c.posterior_x0 * guess + c.posterior_xt * xt;
  if (is_last) return decoder_bits(x0, mean, log_variance);
  return kl_bits(c.posterior_x0 * x0 + c.posterior_xt * xt, c.posterior_log_variance, mean,
                 log_variance);
}

/// The bound's term of an image of a case.
double expected_vb(const Case& c, std::int64_t b) {
  const auto t = static_cast<std::int64_t>(c.images.t.at(b));
  double sum = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    sum +=
        bound_bits(c.process.at(t), t == 0, c.images.x0.at(8 * b + i), c.images.noise.at(8 * b + i),
                   c.output.at(16 * b + i), c.output.at(16 * b + 8 + i));
  }
  return sum / 8;
}

}  // namespace

TEST_CASE("noise is added by the step of each image") {
  const Case c;
  const Tensor xt = c.process.add_noise(c.images.x0, c.images.t, c.images.noise);
  for (std::int64_t b = 0; b < 4; ++b) {
    const double ab = c.process.at(static_cast<std::int64_t>(c.images.t.at(b))).alphas_cumprod;
    for (std::int64_t i = 8 * b; i < 8 * b + 8; ++i) {
      check_process_value(
          xt.at(i), std::sqrt(ab) * c.images.x0.at(i) + std::sqrt(1 - ab) * c.images.noise.at(i));
    }
  }
}

TEST_CASE("the posterior is Bayes' rule for two Gaussians") {
  const DiffusionProcess process;
  for (const std::int64_t t : {1, 7, 500, 999}) {
    // q(x_t | x_(t-1)) q(x_(t-1) | x_0): precisions add
    const StepCoefficients& c = process.at(t);
    const double beta = process.betas()[static_cast<std::size_t>(t)];
    const double precision = (1 - beta) / beta + 1 / (1 - c.alphas_cumprod_prev);
    check_process_value(c.posterior_variance, 1 / precision);
    check_process_value(c.posterior_xt, std::sqrt(1 - beta) / beta / precision);
    check_process_value(c.posterior_x0,
                        std::sqrt(c.alphas_cumprod_prev) / (1 - c.alphas_cumprod_prev) / precision);
  }
  CHECK(process.at(0).posterior_x0 == doctest::Approx(1));
  CHECK(process.at(0).posterior_xt == 0);
}

TEST_CASE("the hybrid loss is the error of the noise and the bound's term in bits") {
  const Case c;
  const DiffusionLoss loss = diffusion_loss(c.process, c.images, c.output);
  REQUIRE(loss.vb.shape() == Shape{4});
  double total = 0;
  for (std::int64_t b = 0; b < 4; ++b) {
    double squares = 0;
    for (std::int64_t i = 0; i < 8; ++i) {
      squares += std::pow(c.output.at(16 * b + i) - c.images.noise.at(8 * b + i), 2);
    }
    check_process_value(loss.mse.at(b), squares / 8);
    CHECK(loss.vb.at(b) == doctest::Approx(expected_vb(c, b)).epsilon(1e-9));
    total += squares / 8 + 0.5 * loss.vb.at(b);
  }
  check_process_value(loss.total(0.5).item(), total / 4);
}

TEST_CASE("at step 0 the darkest and the brightest level reach to infinity") {
  Case c;
  c.images.x0 = from_values({4, 2, 2, 2},
                            std::vector<double>{-1, -0.9995, -0.9985, 0, 0.5, 0.9985, 0.9995, 1,
                                                -1, -1,      1,       1, 0,   0,      0.2,    0.3,
                                                -1, -0.9995, -0.9985, 0, 0.5, 0.9985, 0.9995, 1,
                                                -1, -1,      1,       1, 0,   0,      0.2,    0.3},
                            kF64);
  c.images.t = steps_of({0, 0, 0, 0});
  const DiffusionLoss loss = diffusion_loss(c.process, c.images, c.output);
  for (std::int64_t b = 0; b < 4; ++b) {
    CHECK(loss.vb.at(b) == doctest::Approx(expected_vb(c, b)).epsilon(1e-9));
  }
}

TEST_CASE("in f32 the likelihood of a level keeps its digits in the tails") {
  Case c;
  c.images.t = steps_of({0, 0, 0, 0});
  for (const double scale : {0.0, 2.0, 4.0}) {  // up to probabilities near the bound of 1e-12
    CAPTURE(scale);
    const Tensor far = c.images.noise + scale;
    const Tensor output = ops::cat({far, ops::slice(c.output, 1, 2, 4)}, 1);
    const auto vb = [&](DType dtype) {
      const NoisedImages images{c.images.x0.to(dtype), c.images.t, c.images.noise.to(dtype)};
      return diffusion_loss(c.process, images, output.to(dtype)).vb;
    };
    const Tensor single = vb(DType::f32), full_precision = vb(DType::f64);
    for (std::int64_t b = 0; b < 4; ++b) {
      CHECK(single.at(b) == doctest::Approx(full_precision.at(b)).epsilon(1e-5));
    }
  }
}

TEST_CASE("the bound's gradient reaches the variances only") {
  const Case c;
  const Tensor output = c.output.detach().clone();
  output.set_requires_grad();
  backward(ops::reshape(ops::slice(diffusion_loss(c.process, c.images, output).vb, 0, 2, 3), {}));
  const std::vector<double> grad = output.grad().to_vector();
  for (std::size_t i = 0; i < grad.size(); ++i) {
    const bool is_variance = i >= 40 && i < 48;  // channels 2 and 3 of the third image
    CHECK((grad[i] != 0) == is_variance);
  }
}

TEST_CASE("without learned variances the loss is the error of the noise alone") {
  const Case c;
  const DiffusionLoss loss = diffusion_loss(c.process, c.images, ops::slice(c.output, 1, 0, 2));
  CHECK_FALSE(loss.vb.defined());
  check_process_value(loss.total().item(),
                      (loss.mse.at(0) + loss.mse.at(1) + loss.mse.at(2) + loss.mse.at(3)) / 4);
}

TEST_CASE("an output of another shape is rejected") {
  const Case c;
  tests::check_error(
      [&] { return diffusion_loss(c.process, c.images, ops::slice(c.output, 1, 0, 3)); },
      "got 3 output channels, expected 2 or, with learned variances, 4");
}

}  // namespace fovea
