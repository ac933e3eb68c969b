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

}  // namespace

Tensor denoise_step(const DiffusionProcess& process, const SamplerOptions& options, std::int64_t i,
                    const Tensor& x, const Tensor& output, const Tensor& noise) {
  const StepCoefficients& c = process.at(i);
  const std::int64_t channels = x.size(1);
  check(output.size(1) == channels || output.size(1) == 2 * channels, "denoise_step: got ",
        output.size(1), " output channels, expected ", channels, " or ", 2 * channels);
  const Tensor out = output.to(x.dtype());
  Tensor eps = ops::slice(out, 1, 0, channels);
  const Tensor scaled = x * c.sqrt_recip_alphas_cumprod;
  Tensor x0 = scaled - eps * c.sqrt_recipm1_alphas_cumprod;
  if (options.clip_denoised) {
    x0 = ops::clamp(x0, -1, 1);
    eps = (scaled - x0) / c.sqrt_recipm1_alphas_cumprod;  // the noise that goes with it
  }
  const Tensor added = options.adds_noise(i) ? noise : Tensor();
  check(added.defined() || !options.adds_noise(i), "denoise_step: step ", i, " needs noise");
  return options.kind == SamplerKind::ddpm ? ancestral_step(c, x, x0, out, added)
                                           : ddim_step(c, options.eta, x0, eps, added);
}

Tensor denoise(const DiffusionProcess& process, const Denoiser& model,
               const SamplerOptions& options, Tensor x, const StepNoise& noise,
               const OnSamplingStep& on_step) {
  const NoGrad no_grad;
  const std::int64_t steps = process.size();
  for (std::int64_t i = steps - 1; i >= 0; --i) {
    const Tensor t = full({x.size(0)}, static_cast<double>(process.timestep(i)), x.options());
    const Tensor output = model(x, t);
    x = denoise_step(process, options, i, x, output, options.adds_noise(i) ? noise(i) : Tensor());
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
