// Sampling: from noise to images, step by step.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/base/names.h"
#include "models/diffusion/guidance.h"
#include "models/diffusion/process.h"
#include "models/diffusion/sample_noise.h"

namespace fovea {

/// ddpm: ancestral sampling (Ho et al. 2020). ddim: Song et al. 2020. dpmpp_2m: DPM-Solver++ of
/// second order, multistep (Lu et al. 2022, algorithm 2); its first and last step are of first
/// order.
enum class SamplerKind { ddpm, ddim, dpmpp_2m };
template <>
inline constexpr auto kNames<SamplerKind> =
    std::to_array<Named<SamplerKind>>({{SamplerKind::ddpm, "ddpm"},
                                       {SamplerKind::ddim, "ddim"},
                                       {SamplerKind::dpmpp_2m, "dpmpp_2m"}});

struct SamplerOptions {
  SamplerKind kind = SamplerKind::ddpm;
  double eta = 0;              ///< ddim: share of the posterior's noise; 0: deterministic
  bool clip_denoised = false;  ///< clips predicted images to [-1, 1]

  /// Whether step i adds noise; the last step, 0, never does.
  [[nodiscard]] bool adds_noise(std::int64_t i) const {
    return i > 0 && (kind == SamplerKind::ddpm || (kind == SamplerKind::ddim && eta > 0));
  }
};

/// The steps of one sampling, from the last of the process to step 0.
class DenoisingSteps {
 public:
  /// Both outlive this object.
  DenoisingSteps(const DiffusionProcess& process, const SamplerOptions& options)
      : process_(process), options_(options) {}

  /// x_(i - 1) from x_i [B, C, H, W], the model's output for it and, if the step adds any, noise.
  /// Computed in the dtype of x.
  [[nodiscard]] Tensor step(std::int64_t i, const Tensor& x, const Tensor& output,
                            const Tensor& noise);

 private:
  const DiffusionProcess& process_;
  const SamplerOptions& options_;
  Tensor before_;  ///< dpmpp_2m: the image that step i + 1 predicted, if it was the one before
};

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
