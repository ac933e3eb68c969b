// The settings of autoencoding: the weight of the divergence. Pixels must be in [-1, 1].
#include "train/settings/config.h"
#include "train/tasks/autoencoding.h"

namespace fovea {
namespace {

class AutoencodingSettings : public TaskSettingsOf<AutoencodingSettings, TaskKind::autoencoding> {
 public:
  void add_fields(Fields& fields, TrainConfig&) override {
    FieldGroup(fields, "VAE")
        .number("kl-weight", &options_.kl_weight,
                "weight of the latents' KL divergence relative to the pixels' absolute error",
                {0, 1e3});
  }
  void check(const TrainConfig& config) const override {
    const Normalization& pixels = config.run.normalization;
    for (std::size_t c = 0; c < 3; ++c) {
      check_usage(pixels.mean[c] == 0.5F && pixels.deviation[c] == 0.5F,
                  "--mean and --std: a VAE and its users expect pixels from -1 to 1: --mean 0.5 "
                  "0.5 0.5 --std 0.5 0.5 0.5");
    }
  }
  [[nodiscard]] TaskInfo info(const TrainConfig&) const override { return autoencoding_info(); }
  [[nodiscard]] std::unique_ptr<const Task> make(const TrainConfig& config, Model& model,
                                                 const Dataset* /*images*/) const override {
    return std::make_unique<Autoencoding>(info(config), model, options_, config.run.seed);
  }

 private:
  AutoencodingOptions options_;
};

}  // namespace

std::unique_ptr<TaskSettings> autoencoding_settings() {
  return std::make_unique<AutoencodingSettings>();
}

}  // namespace fovea
