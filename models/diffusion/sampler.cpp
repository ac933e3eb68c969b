// The formulas of a sampling step, and the loop over steps.
#include "models/diffusion/sampler.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// The deviation of the noise of an ancestral step, [B, C, H, W].
Tensor learned_deviation(const StepCoefficients& c, const Tensor& raw_variance) {
  // f log(beta) + (1 - f) log(posterior variance), f = (v + 1) / 2
  const double slope = (c.log_beta - c.posterior_log_variance) / 2;
  return ops::exp((raw_variance * slope + (slope + c.posterior_log_variance)) * 0.5);
}

Tensor ancestral_step(const StepCoefficients& c, const Tensor& x, const Tensor& x0,
                      const Tensor& output, const Tensor& noise) {
  const Tensor mean = x0 * c.posterior_x0 + x * c.posterior_xt;
  if (!noise.defined()) return mean;
  const std::int64_t channels = x.size(1);
  if (output.size(1) == channels) return mean + noise * std::exp(0.5 * c.fixed_log_variance);
  return mean + learned_deviation(c, ops::slice(output, 1, channels, 2 * channels)) * noise;
}

Tensor ddim_step(const StepCoefficients& c, double eta, const Tensor& x0, const Tensor& eps,
                 const Tensor& noise) {
  const double ab = c.alphas_cumprod, previous = c.alphas_cumprod_prev;
  const double sigma = eta * std::sqrt((1 - previous) / (1 - ab)) * std::sqrt(1 - ab / previous);
  const Tensor mean =
      x0 * std::sqrt(previous) + eps * std::sqrt(std::max(0.0, 1 - previous - sigma * sigma));
  return noise.defined() ? mean + noise * sigma : mean;
}

/// Half of the logarithm of the signal's share by the noise's, lambda in the paper.
double half_log_snr(double alphas_cumprod) {
  return 0.5 * (std::log(alphas_cumprod) - std::log1p(-alphas_cumprod));
}

/// A step of DPM-Solver++(2M) from step i. `before`, the image that step i + 1 predicted, may be
/// undefined.
Tensor dpm_solver_step(const DiffusionProcess& process, std::int64_t i, const Tensor& x,
                       const Tensor& x0, const Tensor& before) {
  if (i == 0) return x0;  // no noise is left: h is infinite
  const double from = process.at(i).alphas_cumprod, to = process.at(i).alphas_cumprod_prev;
  const double h = half_log_snr(to) - half_log_snr(from);
  const double kept = std::sqrt((1 - to) / (1 - from)), weight = -std::sqrt(to) * std::expm1(-h);
  if (!before.defined()) return x * kept + x0 * weight;
  const double h_before = half_log_snr(from) - half_log_snr(process.at(i + 1).alphas_cumprod);
  const double slope = 0.5 * h / h_before;  // 1 / (2 r)
  return x * kept + (x0 * (1 + slope) - before * slope) * weight;
}

}  // namespace

Tensor DenoisingSteps::step(std::int64_t i, const Tensor& x, const Tensor& output,
                            const Tensor& noise) {
  const StepCoefficients& c = process_.at(i);
  const std::int64_t channels = x.size(1);
  check(output.size(1) == channels || output.size(1) == 2 * channels, "sampling: got ",
        output.size(1), " output channels, expected ", channels, " or ", 2 * channels);
  const Tensor out = output.to(x.dtype());
  Tensor eps = ops::slice(out, 1, 0, channels);
  const Tensor scaled = x * c.sqrt_recip_alphas_cumprod;
  Tensor x0 = scaled - eps * c.sqrt_recipm1_alphas_cumprod;
  if (options_.clip_denoised) {
    x0 = ops::clamp(x0, -1, 1);
    eps = (scaled - x0) / c.sqrt_recipm1_alphas_cumprod;  // the noise that goes with it
  }
  const Tensor added = options_.adds_noise(i) ? noise : Tensor();
  check(added.defined() || !options_.adds_noise(i), "sampling: step ", i, " needs noise");
  switch (options_.kind) {
    case SamplerKind::ddpm:
      return ancestral_step(c, x, x0, out, added);
    case SamplerKind::ddim:
      return ddim_step(c, options_.eta, x0, eps, added);
    case SamplerKind::dpmpp_2m:
      break;
  }
  const Tensor next = dpm_solver_step(process_, i, x, x0, before_);
  before_ = x0;
  return next;
}

Tensor denoise(const DiffusionProcess& process, const Denoiser& model,
               const SamplerOptions& options, Tensor x, const StepNoise& noise,
               const OnSamplingStep& on_step) {
  const NoGrad no_grad;
  const std::int64_t steps = process.size();
  DenoisingSteps denoising(process, options);
  for (std::int64_t i = steps - 1; i >= 0; --i) {
    const Tensor t = full({x.size(0)}, static_cast<double>(process.timestep(i)), x.options());
    const Tensor output = model(x, t);
    x = denoising.step(i, x, output, options.adds_noise(i) ? noise(i) : Tensor());
    if (on_step && !on_step({steps - i, steps, x})) break;
  }
  return x;
}

Tensor sample(const DiffusionProcess& process, const Denoiser& model, const SamplerOptions& options,
              const SampleNoise& noise, const OnSamplingStep& on_step) {
  return denoise(
      process, model, options, noise.initial(), [&noise](std::int64_t i) { return noise.at(i); },
      on_step);
}

}  // namespace fovea
