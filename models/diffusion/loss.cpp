// The hybrid loss. Since x_t determines x_0 from the noise, the error of the posterior's mean is a
// multiple of the error of the noise: no difference of large terms is taken.
#include "models/diffusion/loss.h"

#include <cmath>

#include "engine/base/error.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// u of the approximate normal distribution function (1 + tanh(u)) / 2 of the official code.
Tensor tanh_argument(const Tensor& x) { return std::sqrt(2 / M_PI) * (x + 0.044715 * (x * x * x)); }

/// Logarithms of the probabilities above the lower edge of a level, below its upper one, between.
struct LevelLogs {
  Tensor above, below, between;
};

/// From u at both edges. In f32 the difference of two values of the distribution function has no
/// digits left in its tails, so it is taken as sigmoid(a) - sigmoid(b) =
/// sigmoid(a) sigmoid(-b) (1 - exp(b - a)). f64 keeps the form, and the rounding, of the official
/// code.
LevelLogs level_logs(const Tensor& upper, const Tensor& lower) {
  if (upper.dtype() == DType::f64) {
    const Tensor high = 0.5 * (ops::tanh(upper) + 1.0), low = 0.5 * (ops::tanh(lower) + 1.0);
    const auto log = [](const Tensor& p) { return ops::log(ops::clamp(p, 1e-12, 1)); };
    return {log(-low + 1.0), log(high), log(high - low)};
  }
  const Tensor below = ops::logsigmoid(2 * upper), above = ops::logsigmoid(-2 * lower);
  const Tensor between = below + above + ops::log(-ops::exp(2 * (lower - upper)) + 1.0);
  const auto bounded = [](const Tensor& log_p) { return ops::clamp(log_p, std::log(1e-12), 0); };
  return {bounded(above), bounded(below), bounded(between)};
}

/// -log p(x_0) under a Gaussian that is discretised to 256 levels in [-1, 1]. centred: x_0 - mean.
Tensor decoder_nll(const Tensor& x0, const Tensor& centred, const Tensor& log_variance) {
  const Tensor inverse_deviation = ops::exp(log_variance * -0.5);
  const LevelLogs logs = level_logs(tanh_argument(inverse_deviation * (centred + 1.0 / 255)),
                                    tanh_argument(inverse_deviation * (centred - 1.0 / 255)));
  const Tensor is_darkest = ops::less(x0, full({1}, -0.999, x0.options()));
  const Tensor is_brightest = ops::greater(x0, full({1}, 0.999, x0.options()));
  return -ops::where(is_darkest, logs.below, ops::where(is_brightest, logs.above, logs.between));
}

/// The bound's term at each image's step, in bits. error: of the predicted noise.
Tensor bound_term(const BatchCoefficients& c, const NoisedImages& images, const Tensor& error,
                  const Tensor& raw_variance) {
  // f log(beta) + (1 - f) log(posterior variance), less the latter
  const Tensor excess = (raw_variance + 1.0) * 0.5 * (c.log_beta - c.posterior_log_variance);
  const Tensor log_variance = c.posterior_log_variance + excess;
  const Tensor squares = error * error * c.noise_weight * ops::exp(-log_variance);
  const Tensor kl = 0.5 * (excess + ops::exp(-excess) - 1.0 + squares);
  const Tensor nll = decoder_nll(images.x0, error * c.sqrt_recipm1_alphas_cumprod, log_variance);
  const Tensor is_last = ops::equal(images.t, zeros({1}, images.t.options()));
  const Tensor term = ops::where(ops::reshape(is_last, {is_last.size(0), 1, 1, 1}), nll, kl);
  return ops::mean(term, {1, 2, 3}) / std::log(2.0);
}

}  // namespace

Tensor DiffusionLoss::total(double vb_weight) const {
  return ops::mean(vb.defined() ? mse + vb_weight * vb : mse);
}

DiffusionLoss diffusion_loss(const DiffusionProcess& process, const NoisedImages& images,
                             const Tensor& output) {
  const Tensor& noise = images.noise;
  check(output.rank() == 4 && output.size(0) == noise.size(0), "diffusion_loss: got an output ",
        output.shape(), " for noise ", noise.shape());
  const std::int64_t channels = noise.size(1), outputs = output.size(1);
  check(outputs == channels || outputs == 2 * channels, "diffusion_loss: got ", outputs,
        " output channels, expected ", channels, " or, with learned variances, ", 2 * channels);
  const Tensor out = output.dtype() == DType::bf16 ? output.to(DType::f32) : output;
  const Tensor error = ops::slice(out, 1, 0, channels) - noise;
  DiffusionLoss loss{ops::mean(error * error, {1, 2, 3})};
  if (outputs == channels) return loss;
  const Tensor raw_variance = ops::slice(out, 1, channels, outputs);
  loss.vb = bound_term(process.at(images.t, out.dtype()), images, error.detach(), raw_variance);
  return loss;
}

}  // namespace fovea
