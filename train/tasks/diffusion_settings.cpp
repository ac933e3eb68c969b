// The settings of the diffusion task.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "train/tasks/diffusion.h"

namespace fovea {
namespace {

using nlohmann::json;

bool is_half(float value) { return value == 0.5F; }

void check_normalization(const Normalization& n) {
  const bool fits = std::all_of(n.mean.begin(), n.mean.end(), is_half) &&
                    std::all_of(n.deviation.begin(), n.deviation.end(), is_half);
  check_usage(fits, "--mean, --std: got ", decimal_of(n.mean[0]), " and ",
              decimal_of(n.deviation[0]),
              ", expected 0.5,0.5,0.5 for both: diffusion takes pixels in [-1, 1]");
}

/// What the run's other settings must be for images that a VAE encodes.
void check_encoding(const std::filesystem::path& vae, const TrainConfig& config) {
  if (vae.empty()) return;
  check_usage(config.data.name != "latents", "--vae: got ", vae.string(),
              ", but --dataset latents has latents already");
  check_usage(config.sizes.sides.empty() && !config.sizes.keep, "--vae: got ", vae.string(),
              ", but --train-img-sizes changes the size of the images");
}

class DiffusionSettings : public TaskSettingsOf<DiffusionSettings, TaskKind::diffusion> {
 public:
  DiffusionOptions options{};

  void add_fields(Fields& fields, TrainConfig& /*config*/) override {
    FieldGroup diffusion(fields, "Diffusion");
    diffusion
        .choice("noise-schedule", &options.process.schedule,
                "noise added by each step: linear, or squaredcos_cap_v2 (cosine)")
        .fixed = true;
    diffusion
        .number("diffusion-steps", &options.process.steps, "steps from image to noise",
                {1, kMaxDiffusionSteps})
        .fixed = true;
    diffusion.add("vae", &options.vae,
                  "encode the images with this VAE: a run of train_vae, a folder of diffusers or a "
                  "weights file");
    diffusion.add("rescale-vb", &options.rescale_vb,
                  "multiply the variational bound in the loss by diffusion-steps / 1000");
    FieldGroup samples(fields, "Samples");
    fovea::add_fields(samples, options.samples);
  }
  void check(const TrainConfig& config) const override {
    try {
      static_cast<void>(noise_betas(options.process.schedule, options.process.steps));
    } catch (const Error& error) {
      throw UsageError(std::string("--diffusion-steps: ") + error.what());
    }
    check_options(options.samples, options.process);
    const bool has_null_class = config.model.overrides().value("class_dropout_prob", json(1)) != 0;
    check_usage(
        has_null_class || options.samples.guidance.scale == 1, "--cfg-scale: got ",
        options.samples.guidance.scale,
        ", but --class-dropout-prob 0 trains no null class for guidance; use --cfg-scale 1");
    check_normalization(config.run.normalization);
    check_encoding(options.vae, config);
  }
  void note(const TrainConfig& config, Notices& notices) const override {
    if (config.model.overrides().value("class_dropout_prob", json(0)) == 1) {
      notices.add("--class-dropout-prob 1 drops every label, so the model learns no classes, and ",
                  "guidance has nothing to guide by");
    }
    if (config.data.name == "latents") {
      notices.add("the samples after each epoch are shown as latents: --dataset latents names no ",
                  "VAE to decode them");
    }
  }
  [[nodiscard]] TaskInfo info(const TrainConfig& config) const override {
    TaskInfo info =
        diffusion_info(config.model.overrides().value("learn_sigma", json(true)) == true,
                       config.data.name == "latents");
    info.encodes_images = !options.vae.empty();
    return info;
  }
  [[nodiscard]] std::unique_ptr<const Task> make(const TrainConfig& config, Model& model,
                                                 const Dataset* /*images*/) const override {
    DiffusionOptions own = options;
    own.stored_latents = config.data.name == "latents";
    return std::make_unique<Diffusion>(own, model, config.run.seed,
                                       name_of(config.images.augment.crop));
  }
};

}  // namespace

std::unique_ptr<TaskSettings> diffusion_settings() { return std::make_unique<DiffusionSettings>(); }

DiffusionOptions* diffusion_of(TrainConfig& config) {
  auto* const settings = dynamic_cast<DiffusionSettings*>(&*config.task);
  return settings != nullptr ? &settings->options : nullptr;
}

const DiffusionOptions* diffusion_of(const TrainConfig& config) {
  const auto* const settings = dynamic_cast<const DiffusionSettings*>(&*config.task);
  return settings != nullptr ? &settings->options : nullptr;
}

}  // namespace fovea
