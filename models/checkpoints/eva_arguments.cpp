// Translation of the arguments of timm's class Eva, one by one.
#include "models/checkpoints/eva_arguments.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

using nlohmann::json;

/// Plain ViTs' names of Eva's arguments.
const std::map<std::string, std::string>& plain_names() {
  static const std::map<std::string, std::string> all{{"num_reg_tokens", "reg_tokens"},
                                                      {"scale_mlp", "scale_mlp_norm"},
                                                      {"scale_attn_inner", "scale_attn_norm"},
                                                      {"use_fc_norm", "fc_norm"},
                                                      {"use_pre_transformer_norm", "pre_norm"}};
  return all;
}

void require_bool(const std::string& key, const json& value) {
  check(value.is_boolean(), "model_args: ", key, ": got ", json_text(value),
        ", expected true or false");
}

/// A setting that is left out where it says what every model has.
void set_unless(json& config, const char* key, const json& value, bool is_usual) {
  if (is_usual) {
    config.erase(key);
  } else {
    config[key] = value;
  }
}

void erase_rotary(json& config) {
  for (const char* key : {"rope", "rope_temperature", "rope_grid", "rope_grid_offset",
                          "rope_grid_indexing", "ref_feat_shape", "rope_rotate_half",
                          "rope_shift_coords", "rope_jitter_coords", "rope_rescale_coords"}) {
    config.erase(key);
  }
}

void set_rope_type(json& config, const json& value) {
  const std::string type = value.is_string() ? value.get<std::string>() : json_text(value);
  check(type == "cat" || type == "mixed" || type == "dinov3", "model_args: rope_type: got ", type,
        ", expected cat, mixed or dinov3");
  config["rope"] = type == "mixed" ? "mixed" : "axial";
  set_unless(config, "rope_grid", "centered", type != "dinov3");
}

/// Arguments that are settings by the same name, where they are not null.
bool has_own_name(const std::string& key) {
  constexpr std::array kKeys{"num_kv_heads",      "attn_pool_num_heads", "attn_pool_mlp_ratio",
                             "rope_shift_coords", "rope_jitter_coords",  "rope_rescale_coords"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

/// Arguments for parts that no published model has, and that are not written.
void refuse_part(const std::string& key, const json& value) {
  const bool is_absent = value.is_null() || value == 0 || value == false;
  check(is_absent, "model_args: ", key, ": got ", json_text(value), ", which is not supported");
}

/// timm's norm after the last block is on unless that of the pooled vector is, which is on for the
/// mean; either may be switched.
void settle_last_norms(json& config) {
  const json pooling = config.value("global_pool", json("token"));
  const json chosen = config.value("fc_norm", json());
  const bool of_pooled = chosen.is_null() ? pooling == "avg" : chosen == true;
  json of_all = config.value("use_post_transformer_norm", json());
  if (!config.contains("use_post_transformer_norm") && config.contains("final_norm"))
    of_all = config["final_norm"];  // the architecture's
  config.erase("use_post_transformer_norm");
  const bool both = of_pooled && of_all == true, none = !of_pooled && of_all == false;
  check(
      !both,
      "model_args: use_post_transformer_norm and use_fc_norm: got norms before and after pooling, "
      "which is not supported");
  set_unless(config, "final_norm", false, !none);
  const bool by_default = pooling == "avg" || pooling == "avgmax" || pooling == "max";  // of a ViT
  if (chosen.is_null() && of_pooled != by_default) config["fc_norm"] = of_pooled;
}

}  // namespace

bool is_eva(const json& config) {
  const json kind = config.value("block_fn", json());
  return kind == "eva" || kind == "eva_post";
}

std::optional<std::string> apply_eva_argument(json& config, const std::string& key,
                                              const json& value) {
  if (const auto plain = plain_names().find(key); plain != plain_names().end())
    return plain->second;
  if (key == "head_init_scale") return {};
  if (key == "patch_drop_rate" || key == "rope_mrope_section" || key == "gated_attn") {
    refuse_part(key, value);
  } else if (key == "use_abs_pos_emb") {
    require_bool(key, value);
    set_unless(config, "pos_embed", "none", value.get<bool>());
  } else if (key == "use_rot_pos_emb") {
    require_bool(key, value);
    if (!value.get<bool>()) erase_rotary(config);
    if (value.get<bool>() && !config.contains("rope")) config["rope"] = "axial";
  } else if (key == "rope_type") {
    set_rope_type(config, value);
  } else if (key == "use_post_norm") {
    require_bool(key, value);
    config["block_fn"] = value.get<bool>() ? "eva_post" : "eva";
  } else if (key == "use_post_transformer_norm") {
    config[key] = value;  // settle_last_norms() takes it out
  } else if (key == "swiglu_mlp") {
    require_bool(key, value);
    set_unless(config, "mlp_layer", "glu", !value.get<bool>());
    set_unless(config, "act_layer", "silu", !value.get<bool>());
  } else if (key == "swiglu_align_to") {
    set_unless(config, key.c_str(), value, value.is_null() || value == 0);
  } else if (has_own_name(key)) {
    set_unless(config, key.c_str(), value, value.is_null());
  } else {
    return key;
  }
  return {};
}

void finish_eva_arguments(json& config) {
  // timm's post-norm blocks round hidden channels only where a norm follows them.
  const bool is_rounded = config["block_fn"] == "eva" || config.value("scale_mlp_norm", false);
  if (!is_rounded) config.erase("swiglu_align_to");
  if (config.contains("mlp_layer")) {  // a gate apart, where something lies behind it
    const bool apart = config.value("scale_mlp_norm", false) || config.contains("swiglu_align_to");
    config["mlp_layer"] = apart ? "swiglu" : "glu";
  }
  if (const json count = config.value("num_kv_heads", json()); count.is_number()) {
    const json depth = config.value("depth", json());
    check(depth.is_number_integer() && depth >= 0 && depth <= 10000, "depth: got ",
          json_text(depth), ", expected the number of blocks");
    config["num_kv_heads"] = std::vector<json>(depth.get<std::size_t>(), count);
  }
  const json pooling = config.value("global_pool", json("token"));
  set_unless(config, "pool_include_prefix", true, pooling != "map");
  settle_last_norms(config);
}

}  // namespace fovea
