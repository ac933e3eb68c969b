// Settings of sampling, and samples of a DiT.
#include "train/tasks/sampling.h"

#include "engine/base/text.h"

namespace fovea {
namespace {

/// The number of guided channels, where 0 is written "all".
Access<std::string> count_or_all(std::int64_t* channels) {
  return {[=] { return *channels == 0 ? std::string("all") : std::to_string(*channels); },
          [=](const std::string& text) {
            const auto count = parse_integer(text);
            check_usage(text == "all" || (count && *count > 0), "--cfg-channels: got ", text,
                        ", expected all or a number of channels");
            *channels = count.value_or(0);
          }};
}

Tensor as_tensor(const std::vector<std::int64_t>& values, Device device) {
  const std::vector<double> numbers(values.begin(), values.end());
  return from_values({std::ssize(values)}, numbers, {DType::i64, {}}).to(device);
}

}  // namespace

void add_fields(FieldGroup& g, SamplingOptions& options) {
  g.add("num-sampling-steps", &options.steps,
        "steps of a sample: a count, counts of equal sections (10,15,20) or ddimN: every k-th of "
        "the steps, N in all");
  g.choice("sampler", &options.sampler.kind,
           "ancestral sampling (ddpm); ddim, which needs fewer steps; or DPM-Solver++ (dpmpp_2m), "
           "which needs the fewest, 15 to 25");
  g.number("eta", &options.sampler.eta, "ddim: share of the noise of ancestral sampling", {0, 1});
  g.add("clip-denoised", &options.sampler.clip_denoised,
        "clip predicted images to [-1, 1] in each step: for pixels, not for latents");
  g.number("cfg-scale", &options.guidance.scale,
           "classifier-free guidance; 1: none, 0: without classes", {0, 1000});
  g.add("cfg-channels", count_or_all(&options.guidance.channels),
        "guided channels: the first ones, or all");
}

void check_options(const SamplingOptions& options, const ProcessOptions& trained) {
  check_usage(!options.steps.empty(), "--num-sampling-steps: got nothing, expected ", trained.steps,
              " for all steps, or fewer");
  try {
    static_cast<void>(space_timesteps(trained.steps, options.steps));
  } catch (const Error& error) {
    throw UsageError(std::string("--num-sampling-steps: ") + error.what());
  }
}

Tensor sample_images(const Dit& model, const ProcessOptions& trained,
                     const SamplingOptions& options, const SampleRequest& request,
                     DType activations, const OnSamplingStep& on_step) {
  ProcessOptions taken = trained;
  taken.respacing = options.steps;
  const DiffusionProcess process(taken);
  const PatchConfig& image = model.config().image;
  const SampleNoise noise(request.seed, request.indices,
                          {image.in_chans, image.img_size[0], image.img_size[1]},
                          {DType::f32, model.device()});
  const auto denoiser = [&](const Tensor& x, const Tensor& t, const Tensor& y) {
    Context ctx;
    ctx.activations = activations;
    return model.denoise(x, t, y, ctx);
  };
  const Tensor y = as_tensor(request.classes, model.device());
  const bool has_guidance = options.guidance.scale != 1;
  const std::int64_t null_label = has_guidance ? model.null_label() : 0;
  return sample(process, guided(denoiser, y, null_label, options.guidance), options.sampler, noise,
                on_step);
}

}  // namespace fovea
