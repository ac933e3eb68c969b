// Translation of AutoencoderKL's settings; most keys are ours.
#include "models/checkpoints/diffusers_config.h"

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "models/vae.h"

namespace fovea {
namespace {

using nlohmann::json;

/// Throws if a key is there with another value than the one that our VAE implements.
void require_value(const json& root, const char* key, const json& expected) {
  if (!root.contains(key) || root.at(key).is_null()) return;
  check(root.at(key) == expected, key, ": got ", json_text(root.at(key)), ", expected ",
        json_text(expected), "; no VAE here has it otherwise");
}

void require_block_types(const json& root, const char* key, const char* expected) {
  for (const json& type : root.value(key, json::array())) {
    check(type == expected, key, ": got ", json_text(type), ", expected ", expected);
  }
}

}  // namespace

bool is_diffusers_vae_config(const json& root) {
  return root.is_object() && root.value("_class_name", json()) == "AutoencoderKL";
}

HubConfig read_diffusers_vae_config(const json& root) {
  require_value(root, "out_channels", 3);
  require_value(root, "act_fn", "silu");
  require_value(root, "shift_factor", 0);
  for (const char* key : {"use_quant_conv", "use_post_quant_conv", "mid_block_add_attention"}) {
    require_value(root, key, true);
  }
  require_block_types(root, "down_block_types", "DownEncoderBlock2D");
  require_block_types(root, "up_block_types", "UpDecoderBlock2D");
  json config{{"family", "vae"},
              {"img_size", VaeConfig{}.img_size},
              {"block_out_channels", {64}},  // what diffusers assumes
              {"layers_per_block", 1}};
  for (const char* key : {"in_channels", "latent_channels", "block_out_channels",
                          "layers_per_block", "norm_num_groups", "scaling_factor"}) {
    if (root.contains(key)) config[key] = root.at(key);
  }
  const json size = root.value("sample_size", json());
  if (size.is_number_integer()) config["img_size"] = {size, size};
  HubConfig hub;
  hub.architecture = "vae";
  hub.mean = hub.deviation = {0.5F, 0.5F, 0.5F};
  hub.has_mean = hub.has_std = true;
  hub.crop_pct = 1;
  hub.config = json_text(config);
  return hub;
}

}  // namespace fovea
