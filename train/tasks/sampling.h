// Sampling from a DiT: settings shared by training, which draws samples after each epoch, and by
// the program `sample`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/fields.h"
#include "models/diffusion/sampler.h"
#include "models/dit.h"

namespace fovea {

struct SamplingOptions {
  SamplerOptions sampler{};
  std::string steps = "250";  ///< see space_timesteps()
  GuidanceOptions guidance{};
};

/// The fields --num-sampling-steps, --sampler, --eta, --clip-denoised, --cfg-scale, --cfg-channels.
void add_fields(FieldGroup& group, SamplingOptions& options);
/// Throws UsageError if a process that was trained with these options cannot be sampled so.
void check_options(const SamplingOptions& options, const ProcessOptions& trained);

/// What to sample: one class and one index per sample.
struct SampleRequest {
  std::vector<std::int64_t> classes;  ///< up to null_label(), if the model has one
  std::vector<std::int64_t> indices;  ///< of the samples' noise
  std::uint64_t seed = 0;             ///< of the samples' noise
};

/// Samples f32 [n, C, H, W] on the model's device, in one batch. The model is evaluated with
/// activations of that dtype. Throws if guidance is asked of a model without a null class.
[[nodiscard]] Tensor sample_images(const Dit& model, const ProcessOptions& trained,
                                   const SamplingOptions& options, const SampleRequest& request,
                                   DType activations, const OnSamplingStep& on_step = {});

}  // namespace fovea
