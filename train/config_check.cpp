// What follows from several settings together.
#include <nlohmann/json.hpp>

#include "engine/device.h"
#include "models/config_reader.h"
#include "models/registry.h"
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

json parse_model_args(const std::string& text) {
  if (text.empty()) return json::object();
  const json args = json::parse(text, nullptr, /*allow_exceptions=*/false);
  require(args.is_object(), "--model-args: got ", text,
          ", expected a JSON object like {\"class_token\": false}");
  return args;
}

/// "N" or "HxW".
json parse_img_size(const std::string& text) {
  const json size = parse_config_value(text);
  const bool pair = size.is_array() && size.size() == 2;
  require(pair || size.is_number_unsigned(), "--img-size: got ", text, ", expected N or HxW");
  return pair ? size : json{size, size};
}

}  // namespace

double peak_lr(const TrainConfig& c) {
  const auto samples = static_cast<double>(c.batch_size * c.grad_accum_steps);
  return c.lr.value_or(c.lr_base * samples / static_cast<double>(c.lr_base_size));
}

std::string model_overrides(const TrainConfig& c) {
  json overrides = parse_model_args(c.model_args);
  if (!c.img_size.empty()) overrides["img_size"] = parse_img_size(c.img_size);
  if (c.patch_size > 0) overrides["patch_size"] = c.patch_size;
  if (c.depth > 0) overrides["depth"] = c.depth;
  if (c.embed_dim > 0) overrides["embed_dim"] = c.embed_dim;
  if (c.num_heads > 0) overrides["num_heads"] = c.num_heads;
  if (c.mlp_ratio > 0) overrides["mlp_ratio"] = c.mlp_ratio;
  if (!c.global_pool.empty()) overrides["global_pool"] = c.global_pool;
  if (!c.pos_embed.empty()) overrides["pos_embed"] = c.pos_embed;
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
  if (!c.img_size.empty()) parse_img_size(c.img_size);
  parse_model_args(c.model_args);
  try {
    static_cast<void>(parse_device(c.device));
  } catch (const Error& error) {
    throw UsageError(std::string("--device: ") + error.what());
  }
}

}  // namespace fovea
