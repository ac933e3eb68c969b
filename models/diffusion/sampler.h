// Sampling: from noise to images, step by step.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/base/names.h"
#include "models/diffusion/guidance.h"
#include "models/diffusion/process.h"
#include "models/diffusion/sample_noise.h"

namespace fovea {

/// ddpm: ancestral sampling (Ho et al. 2020). ddim: Song et al. 2020.
enum class SamplerKind { ddpm, ddim };
template <>
inline constexpr auto kNames<SamplerKind> =
    std::to_array<Named<SamplerKind>>({{SamplerKind::ddpm, "ddpm"}, {SamplerKind::ddim, "ddim"}});

struct SamplerOptions {
  SamplerKind kind = SamplerKind::ddpm;
  double eta = 0;              ///< ddim: share of the posterior's noise; 0: deterministic
  bool clip_denoised = false;  ///< clips predicted images to [-1, 1]

  /// Whether step i adds noise; the last step, 0, never does.
  [[nodiscard]] bool adds_noise(std::int64_t i) const {
    return i > 0 && (kind == SamplerKind::ddpm || eta > 0);
  }
};

/// x_(i - 1) from x_i [B, C, H, W], the model's output for it and, if the step adds any, noise.
/// Computed in the dtype of x.
[[nodiscard]] Tensor denoise_step(const DiffusionProcess& process, const SamplerOptions& options,
                                  std::int64_t i, const Tensor& x, const Tensor& output,
                                  const Tensor& noise);

/// After a step: `done` of `steps`. Returns false to stop.
struct SamplingStep {
  std::int64_t done = 0, steps = 0;
  const Tensor& x;
};
using OnSamplingStep = std::function<bool(const SamplingStep& step)>;
/// The noise that step i adds, in the shape of x.
using StepNoise = std::function<Tensor(std::int64_t i)>;

/// Samples [B, C, H, W] from x_T, by all steps of the process. Nothing is recorded on the tape.
/// Stopped by on_step, it returns the x of that step.
[[nodiscard]] Tensor denoise(const DiffusionProcess& process, const Denoiser& model,
                             const SamplerOptions& options, Tensor x, const StepNoise& noise,
                             const OnSamplingStep& on_step = {});
/// The same from the noise of numbered samples: one sample per index of `noise`.
[[nodiscard]] Tensor sample(const DiffusionProcess& process, const Denoiser& model,
                            const SamplerOptions& options, const SampleNoise& noise,
                            const OnSamplingStep& on_step = {});

}  // namespace fovea
