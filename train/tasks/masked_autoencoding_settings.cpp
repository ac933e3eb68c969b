// The settings of masked autoencoding, which adds only the command to run after training.
#include "train/settings/config.h"
#include "train/tasks/finetune_command.h"
#include "train/tasks/masked_autoencoding.h"

namespace fovea {
namespace {

class MaskedAutoencodingSettings
    : public TaskSettingsOf<MaskedAutoencodingSettings, TaskKind::masked_autoencoding> {
 public:
  void add_fields(Fields&, TrainConfig&) override {}  // the model has the fields
  void check(const TrainConfig&) const override {}
  [[nodiscard]] TaskInfo info(const TrainConfig& config) const override {
    TaskInfo info = masked_autoencoding_info();
    info.next_steps.push_back({"a classifier with this encoder", finetune_command(config)});
    return info;
  }
  [[nodiscard]] std::unique_ptr<const Task> make(const TrainConfig& config, Model& model,
                                                 const Dataset* /*images*/) const override {
    return std::make_unique<MaskedAutoencoding>(info(config), model, config.run.seed);
  }
};

}  // namespace

std::unique_ptr<TaskSettings> masked_autoencoding_settings() {
  return std::make_unique<MaskedAutoencodingSettings>();
}

}  // namespace fovea
