// Properties of the samplers and of guidance.
#include "models/diffusion/sampler.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"

namespace fovea {
namespace {

const Shape kImage{2, 3, 3};

/// A model without parameters that depends on everything: noise and variances, [B, 2 C, H, W].
Tensor toy_model(const Tensor& x, const Tensor& t) {
  const Tensor time = ops::reshape(t, {t.size(0), 1, 1, 1}) * 1e-3;
  return ops::cat({ops::sin(x + time) * 0.9, ops::cos(x * 2.0 - time)}, 1);
}

Tensor toy_class_model(const Tensor& x, const Tensor& t, const Tensor& y) {
  const Tensor label = ops::reshape(y.to(x.dtype()), {y.size(0), 1, 1, 1});
  return toy_model(x + label * 0.1, t);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

Tensor row(const Tensor& x, std::int64_t b) { return ops::select(x, 0, b).contiguous(); }

/// The noise that leads from x0 to x at a step.
Denoiser true_noise(const DiffusionProcess& process, const Tensor& x0) {
  return [&process, x0](const Tensor& x, const Tensor& t) {
    const std::vector<std::int64_t>& steps = process.timesteps();
    const auto at = std::find(steps.begin(), steps.end(), static_cast<std::int64_t>(t.at(0)));
    const StepCoefficients& c = process.at(at - steps.begin());
    return (x - x0 * c.sqrt_alphas_cumprod) / c.sqrt_one_minus_alphas_cumprod;
  };
}

/// One step on its own.
Tensor denoise_step(const DiffusionProcess& process, const SamplerOptions& options, std::int64_t i,
                    const Tensor& x, const Tensor& output, const Tensor& noise) {
  return DenoisingSteps(process, options).step(i, x, output, noise);
}

Tensor sampled(const SamplerOptions& options, const std::vector<std::int64_t>& indices,
               std::uint64_t seed = 1, DType dtype = DType::f32) {
  const DiffusionProcess process({.respacing = "20"});
  return sample(process, toy_model, options, SampleNoise(seed, indices, kImage, {dtype, {}}));
}

}  // namespace

TEST_CASE("DDIM and DPM-Solver++ return the image when the model knows the noise") {
  const Tensor x0 = rand_uniform({3, 2, 3, 3}, {-1, 1}, {5}, kF64);
  for (const char* respacing : {"", "50", "ddim10", "7,2", "1"}) {
    CAPTURE(respacing);
    const DiffusionProcess process({.respacing = respacing});
    const SampleNoise noise(3, {0, 1, 2}, kImage, kF64);
    for (const bool clip : {false, true}) {
      for (const SamplerKind kind : {SamplerKind::ddim, SamplerKind::dpmpp_2m}) {
        const SamplerOptions options{.kind = kind, .clip_denoised = clip};
        const Tensor x = sample(process, true_noise(process, x0), options, noise);
        CHECK(largest_difference(x, x0) < 1e-10);
      }
    }
  }
}

TEST_CASE("DDIM with eta 1 equals the ancestral step with the posterior's variance") {
  for (const char* respacing : {"", "ddim25", "11"}) {
    CAPTURE(respacing);
    const DiffusionProcess process({.respacing = respacing});
    const Tensor x = rand_normal({2, 2, 3, 3}, {0, 1}, {6}, kF64);
    const Tensor noise = rand_normal(x.shape(), {0, 1}, {7}, kF64);
    // v = -1 in the variance channels stands for the posterior's variance
    const Tensor output =
        ops::cat({rand_normal(x.shape(), {0, 1}, {8}, kF64), full(x.shape(), -1, kF64)}, 1);
    for (std::int64_t i = 0; i < process.size(); ++i) {
      const Tensor ancestral = denoise_step(process, {}, i, x, output, noise);
      const Tensor implicit =
          denoise_step(process, {.kind = SamplerKind::ddim, .eta = 1}, i, x, output, noise);
      REQUIRE(largest_difference(ancestral, implicit) < 1e-9);
    }
  }
}

TEST_CASE("an ancestral step draws from the posterior of the predicted image") {
  const DiffusionProcess process;
  const StepCoefficients& c = process.at(300);
  const Tensor x = full({1, 1, 1, 1}, 0.7, kF64), noise = full({1, 1, 1, 1}, -1.5, kF64);
  const double x0 = (0.7 - c.sqrt_one_minus_alphas_cumprod * 0.2) / c.sqrt_alphas_cumprod;
  const double mean = c.posterior_x0 * x0 + c.posterior_xt * 0.7;
  for (const double v : {-1.0, 0.0, 1.0, 1.4}) {  // not clipped to [-1, 1]
    const Tensor output = from_values({1, 2, 1, 1}, {0.2, v}, kF64);
    const double log_variance = (v + 1) / 2 * c.log_beta + (1 - v) / 2 * c.posterior_log_variance;
    CHECK(denoise_step(process, {}, 300, x, output, noise).item() ==
          doctest::Approx(mean - 1.5 * std::exp(log_variance / 2)).epsilon(1e-12));
  }
  // without learned variances the variance is beta, of step 0 the posterior's of step 1
  const Tensor output = full({1, 1, 1, 1}, 0.2, kF64);
  CHECK(denoise_step(process, {}, 300, x, output, noise).item() ==
        doctest::Approx(mean - 1.5 * std::sqrt(process.betas()[300])).epsilon(1e-12));
}

TEST_CASE("DPM-Solver++ is of second order in the number of steps, DDIM of first") {
  // Images whose values are N(mean, deviation^2) have a known flow of probability: a value stays at
  // the same distance from the mean in units of the deviation of x_t.
  constexpr double kMean = 0.3, kDeviation = 0.2;
  const DiffusionProcess trained;
  const auto variance = [](double ab) { return ab * kDeviation * kDeviation + 1 - ab; };
  const Denoiser model = [&](const Tensor& x, const Tensor& t) {
    const double ab = trained.at(static_cast<std::int64_t>(t.at(0))).alphas_cumprod;
    return (x - kMean * std::sqrt(ab)) * (std::sqrt(1 - ab) / variance(ab));
  };
  const SampleNoise noise(3, {0, 1, 2}, kImage, kF64);
  const auto error = [&](SamplerKind kind, const char* respacing) {
    const DiffusionProcess process({.respacing = respacing});
    const double first = process.at(process.size() - 1).alphas_cumprod;
    // Later steps are long in the logarithm of noise, in which the solver is of second order.
    const std::int64_t left = process.size() / 5;
    const double last = process.at(left - 1).alphas_cumprod;
    const Tensor x = sample(process, model, {.kind = kind}, noise,
                            [left](const SamplingStep& s) { return s.done + left < s.steps; });
    const Tensor distance =
        (noise.initial() - kMean * std::sqrt(first)) / std::sqrt(variance(first));
    return largest_difference(x, distance * std::sqrt(variance(last)) + kMean * std::sqrt(last));
  };
  CHECK(error(SamplerKind::dpmpp_2m, "50") < error(SamplerKind::ddim, "50") / 3);
  CHECK(error(SamplerKind::ddim, "50") > 1.6 * error(SamplerKind::ddim, "100"));
  CHECK(error(SamplerKind::dpmpp_2m, "50") > 3.2 * error(SamplerKind::dpmpp_2m, "100"));
}

TEST_CASE("a step of DPM-Solver++ follows the slope of the last two predicted images") {
  const DiffusionProcess process({.respacing = "10"});
  const SamplerOptions options{.kind = SamplerKind::dpmpp_2m};
  const auto lambda = [&](std::int64_t i) {
    const StepCoefficients& c = process.at(i);
    return std::log(c.sqrt_alphas_cumprod / c.sqrt_one_minus_alphas_cumprod);
  };
  const auto image = [&](std::int64_t i, double x, double eps) {
    const StepCoefficients& c = process.at(i);
    return (x - c.sqrt_one_minus_alphas_cumprod * eps) / c.sqrt_alphas_cumprod;
  };
  const auto number = [](double value) { return full({1, 1, 1, 1}, value, kF64); };
  DenoisingSteps steps(process, options);
  const auto step = [&](std::int64_t i, double x, double eps, double d) {
    const StepCoefficients &c = process.at(i), &next = process.at(i - 1);
    const double h = lambda(i - 1) - lambda(i);
    const double expected =
        next.sqrt_one_minus_alphas_cumprod / c.sqrt_one_minus_alphas_cumprod * x -
        next.sqrt_alphas_cumprod * (std::exp(-h) - 1) * d;
    CHECK(steps.step(i, number(x), number(eps), {}).item() ==
          doctest::Approx(expected).epsilon(1e-12));
  };
  const double first = image(9, 0.7, 0.5), second = image(8, 0.6, 0.4);
  step(9, 0.7, 0.5, first);
  const double r = (lambda(8) - lambda(9)) / (lambda(7) - lambda(8));
  step(8, 0.6, 0.4, second + (second - first) / (2 * r));
}

TEST_CASE("clipping bounds the predicted image, not the step") {
  const DiffusionProcess process;
  const Tensor x = full({1, 1, 1, 1}, 3, kF64), output = zeros({1, 1, 1, 1}, kF64);
  const double left = denoise_step(process, {}, 0, x, output, {}).item();
  CHECK(left == doctest::Approx(3 / std::sqrt(0.9999)));
  CHECK(denoise_step(process, {.clip_denoised = true}, 0, x, output, {}).item() ==
        doctest::Approx(1));
}

TEST_CASE("the last step adds no noise, and DDIM without eta needs none") {
  const DiffusionProcess process;
  const Tensor x = ones({1, 1, 2, 2}), output = zeros({1, 2, 2, 2}), noise = ones({1, 1, 2, 2});
  CHECK(denoise_step(process, {}, 0, x, output, noise).to_vector() ==
        denoise_step(process, {}, 0, x, output, {}).to_vector());
  const SamplerOptions ddim{.kind = SamplerKind::ddim};
  CHECK(denoise_step(process, ddim, 500, x, output, noise).to_vector() ==
        denoise_step(process, ddim, 500, x, output, {}).to_vector());
  tests::check_error([&] { return denoise_step(process, {}, 500, x, output, {}); },
                     "step 500 needs noise");
}

TEST_CASE("a sample depends on its seed and index alone, whatever the batch and the threads") {
  for (const SamplerOptions& options : {SamplerOptions{}, SamplerOptions{.kind = SamplerKind::ddim},
                                        SamplerOptions{.kind = SamplerKind::dpmpp_2m},
                                        SamplerOptions{.kind = SamplerKind::ddim, .eta = 0.5}}) {
    const Tensor whole = sampled(options, {4, 9, 2});
    CHECK(row(sampled(options, {2}), 0).to_vector() == row(whole, 2).to_vector());
    CHECK(row(sampled(options, {7, 4}), 1).to_vector() == row(whole, 0).to_vector());
    CHECK(row(sampled(options, {4}, 2), 0).to_vector() != row(whole, 0).to_vector());
    CHECK(row(whole, 0).to_vector() != row(whole, 1).to_vector());
    const int threads = num_threads();
    set_num_threads(threads == 1 ? 2 : 1);
    CHECK(sampled(options, {4, 9, 2}).to_vector() == whole.to_vector());
    set_num_threads(threads);
  }
}

TEST_CASE("noise differs by step, and its start does not depend on the number of steps") {
  const SampleNoise noise(1, {0}, kImage);
  CHECK(noise.initial().to_vector() != noise.at(0).to_vector());
  CHECK(noise.at(0).to_vector() != noise.at(1).to_vector());
  CHECK(row(SampleNoise(1, {3, 0}, kImage).at(1), 1).to_vector() ==
        row(noise.at(1), 0).to_vector());
}

TEST_CASE("the model receives the original step of the respaced process") {
  const DiffusionProcess process({.respacing = "ddim5"});
  std::vector<double> times;
  const Denoiser model = [&](const Tensor& x, const Tensor& t) {
    times.push_back(t.at(1));
    return x;
  };
  static_cast<void>(sample(process, model, {}, SampleNoise(1, {0, 1}, kImage)));
  CHECK(times == std::vector<double>{800, 600, 400, 200, 0});
}

TEST_CASE("guidance of scale 1 equals none, bit for bit") {
  const Tensor x = rand_normal({2, 2, 3, 3}, {0, 1}, {1}), t = full({2}, 40);
  const Tensor y = from_values({2}, {3, 5}, {DType::i64, {}});
  CHECK(guided(toy_class_model, y, 10, {.scale = 1})(x, t).to_vector() ==
        toy_class_model(x, t, y).to_vector());
}

TEST_CASE("guidance moves the first channels away from the null class") {
  const Tensor x = rand_normal({2, 4, 2, 2}, {0, 1}, {1}, kF64), t = full({2}, 40, kF64);
  const Tensor y = from_values({2}, {3, 5}, {DType::i64, {}});
  const Tensor null = full({2}, 10, y.options());
  const Tensor c = toy_class_model(x, t, y), u = toy_class_model(x, t, null);
  const auto check_guided = [&](std::int64_t channels, std::int64_t expected) {
    const Tensor out = guided(toy_class_model, y, 10, {2.5, channels})(x, t);
    REQUIRE(out.shape() == c.shape());
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      const bool is_guided = i / 4 % 8 < expected;
      const double moved = u.at(i) + 2.5 * (c.at(i) - u.at(i));
      CHECK(out.at(i) == doctest::Approx(is_guided ? moved : c.at(i)).epsilon(1e-12));
    }
  };
  check_guided(3, 3);
  check_guided(0, 4);  // all of the noise, never the variances
  check_guided(1, 1);
}

TEST_CASE("guidance runs the model once a step, on a doubled batch") {
  std::vector<std::int64_t> batches;
  const ConditionalDenoiser model = [&](const Tensor& x, const Tensor& t, const Tensor& y) {
    batches.push_back(x.size(0));
    CHECK(y.to_vector() == std::vector<double>{3, 5, 10, 10});
    return toy_class_model(x, t, y);
  };
  const Tensor y = from_values({2}, {3, 5}, {DType::i64, {}});
  const DiffusionProcess process({.respacing = "3"});
  static_cast<void>(
      sample(process, guided(model, y, 10, {.scale = 4}), {}, SampleNoise(1, {0, 1}, kImage)));
  CHECK(batches == std::vector<std::int64_t>{4, 4, 4});
}

TEST_CASE("sampling reports each step and stops when asked") {
  const DiffusionProcess process({.respacing = "10"});
  std::vector<std::int64_t> done;
  Tensor seen;
  const Tensor x =
      sample(process, toy_model, {}, SampleNoise(1, {0}, kImage), [&](const SamplingStep& step) {
        done.push_back(step.done);
        seen = step.x;
        CHECK(step.steps == 10);
        return step.done < 4;
      });
  CHECK(done == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(x.to_vector() == seen.to_vector());
}

TEST_CASE("sampling allocates nothing after the second step") {
  const DiffusionProcess process({.respacing = "30"});
  std::vector<std::int64_t> allocations;
  static_cast<void>(
      sample(process, toy_model, {}, SampleNoise(1, {0, 1}, {4, 32, 32}), [&](const SamplingStep&) {
        allocations.push_back(memory_stats().allocations);
        return true;
      }));
  CHECK(allocations.back() == allocations[1]);
}

}  // namespace fovea
