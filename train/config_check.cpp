// What follows from several settings together.
#include <nlohmann/json.hpp>

#include "engine/device.h"
#include "train/config.h"

namespace fovea {
namespace {

using nlohmann::json;

template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (ok) return;
  std::ostringstream message;
  (message << ... << parts);
  throw UsageError(message.str());
}

}  // namespace

double peak_lr(const TrainConfig& c) {
  const auto samples = static_cast<double>(c.batch_size * c.grad_accum_steps);
  return c.lr.value_or(c.lr_base * samples / static_cast<double>(c.lr_base_size));
}

std::string model_overrides(const TrainConfig& c) {
  json overrides = c.model_settings.overrides();
  const bool has_blocks = c.model != "linear";  // the recipes' drop path is no mistake there
  if (c.drop_path > 0 && has_blocks) overrides["drop_path"] = c.drop_path;
  return overrides.dump();
}

void check_config(const TrainConfig& c) {
  const bool mixes = c.mixup > 0 || c.cutmix > 0;
  require(!mixes || c.batch_size % 2 == 0, "--batch-size: got ", c.batch_size,
          ", expected an even number: mixup and cutmix pair the images of a batch");
  require(c.distillation_type == "none" || !c.teacher_checkpoint.empty(), "--distillation-type ",
          c.distillation_type, " needs --teacher-checkpoint FILE");
  require(c.finetune.empty() || c.initial_checkpoint.empty(),
          "--finetune and --initial-checkpoint: expected one of them");
  require(!c.eval || !c.resume.empty() || !c.initial_checkpoint.empty(),
          "--eval needs weights: --resume STATE or --initial-checkpoint FILE");
  require(c.resume != "auto" || !c.output.empty(), "--resume auto needs --output DIR");
  static_cast<void>(c.model_settings.overrides());
  try {
    static_cast<void>(parse_device(c.device));
  } catch (const Error& error) {
    throw UsageError(std::string("--device: ") + error.what());
  }
}

}  // namespace fovea
