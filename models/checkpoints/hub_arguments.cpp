// Translation of timm's arguments, one by one.
#include "models/checkpoints/hub_arguments.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "models/checkpoints/eva_arguments.h"

namespace fovea {
namespace {

using nlohmann::json;

template <std::size_t N>
bool is_among(const std::array<const char*, N>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// True for arguments that only affect training, or that have no effect at the model's own image
/// size.
bool says_nothing(const std::string& key) {
  return is_among(
      std::array{"drop_path_rate", "patch_drop_rate", "weight_init", "fix_init", "dynamic_img_pad"},
      key);
}

/// Values that every ViT has unless told otherwise.
const json& usual_values() {
  static const json all{
      {"class_token", true},        {"qkv_bias", true},       {"proj_bias", true},
      {"no_embed_class", false},    {"pos_embed", "learned"}, {"reg_tokens", 0},
      {"pre_norm", false},          {"final_norm", true},     {"init_values", nullptr},
      {"fc_norm", nullptr},         {"qk_norm", false},       {"scale_attn_norm", false},
      {"scale_mlp_norm", false},    {"act_layer", "gelu"},    {"norm_layer", "layernorm"},
      {"embed_norm_layer", "none"}, {"mlp_layer", "mlp"},     {"block_fn", "block"},
      {"attn_layer", "attn"},       {"global_pool", "token"}, {"pool_include_prefix", false},
      {"dynamic_img_size", false}};
  return all;
}

/// timm's words and classes, in lower case and without "_", and the settings that they are.
using Spellings = std::map<std::string, std::string>;
const std::map<std::string, Spellings>& spellings() {
  static const Spellings norms{{"layernorm", "layernorm"},
                               {"layernormfp32", "layernorm"},
                               {"rmsnorm", "rmsnorm"},
                               {"rmsnormfp32", "rmsnorm"}};
  static const std::map<std::string, Spellings> all{
      {"act_layer",
       {{"gelu", "gelu"},
        {"gelutanh", "gelu_tanh"},
        {"quickgelu", "quick_gelu"},
        {"silu", "silu"},
        {"swish", "silu"}}},
      {"norm_layer", norms},
      {"embed_norm_layer", norms},
      {"mlp_layer", {{"mlp", "mlp"}, {"swiglu", "swiglu"}, {"swiglupacked", "glu"}}},
      {"block_fn",
       {{"block", "block"},
        {"respostblock", "res_post"},
        {"parallelscalingblock", "parallel_scaling"},
        {"diffparallelscalingblock", "diff_parallel_scaling"},
        {"parallelthingsblock", "parallel_things"}}},
      {"attn_layer",
       {{"", "attn"},
        {"attn", "attn"},
        {"attention", "attn"},
        {"diff", "diff"},
        {"diffattention", "diff"}}},
      {"global_pool",
       {{"", "none"},
        {"none", "none"},
        {"token", "token"},
        {"avg", "avg"},
        {"avgmax", "avgmax"},
        {"max", "max"},
        {"map", "map"}}},
      {"pos_embed", {{"", "none"}, {"none", "none"}, {"learn", "learned"}, {"learned", "learned"}}},
  };
  return all;
}

/// The word in "torch.nn.SiLU", "<class 'torch.nn.SiLU'>" and "functools.partial(<class ...>,
/// ...)", in lower case and without "_".
std::string class_word(std::string text) {
  if (const std::size_t quote = text.find('\''); quote != std::string::npos) {
    text = text.substr(quote + 1, text.find('\'', quote + 1) - quote - 1);
  }
  text.erase(0, text.rfind('.') + 1);  // npos + 1 is 0
  std::erase(text, '_');
  return lower_case(text);
}

/// The number in "..., eps=1e-05)"; timm's norms have 1e-6 by themselves.
double eps_in(const std::string& text) {
  const std::size_t eps = text.find("eps=");
  if (eps == std::string::npos) return 1e-6;
  const std::string number = text.substr(eps + 4, text.find_first_of(",)", eps) - eps - 4);
  const std::optional<double> value = parse_real(number);
  check(value.has_value(), "model_args: ", text, ": eps: got ", number, ", expected a number");
  return *value;
}

std::string translated(const std::string& key, const std::string& text) {
  if (key == "mlp_layer" && text.find("GluMlp") != std::string::npos &&
      text.find("gate_last=False") != std::string::npos) {
    return "glu";
  }
  const Spellings& known = spellings().at(key);
  const auto found = known.find(class_word(text));
  if (found != known.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [spelling, ours] : known) {
    if (std::find(names.begin(), names.end(), ours) == names.end()) names.push_back(ours);
  }
  fail("model_args: ", key, ": got \"", text, "\", which is not supported, expected ",
       join(names, ", "));
}

/// The value in our terms. A square patch is one number here.
json translated(const std::string& key, const json& value) {
  if (spellings().contains(key) && value.is_string()) {
    return translated(key, value.get<std::string>());
  }
  const bool is_square = value.is_array() && value.size() == 2 && value[0] == value[1];
  return key == "patch_size" && is_square ? value[0] : value;
}

/// A plain DeiT is built as a ViT, and only ViTs have settings besides these.
void allow_vit_settings(json& config, const std::string& key) {
  constexpr std::array kOfBoth{"img_size",  "patch_size",    "in_chans",       "num_classes",
                               "embed_dim", "depth",         "num_heads",      "mlp_ratio",
                               "qkv_bias",  "norm_eps",      "attn_drop_rate", "proj_drop_rate",
                               "drop_rate", "pos_drop_rate", "distilled"};
  if (config["family"] != "deit" || config.value("distilled", false) || is_among(kOfBoth, key)) {
    return;
  }
  config["family"] = "vit";
  config.erase("distilled");
}

}  // namespace

void apply_hub_argument(json& config, const std::string& given, const json& value) {
  std::string key = given;
  if (is_eva(config)) {
    const std::optional<std::string> plain = apply_eva_argument(config, given, value);
    if (!plain) return;
    key = *plain;
  }
  if (says_nothing(key)) return;
  const bool is_norm = key == "norm_layer", has_usual = usual_values().contains(key);
  if (value.is_null() && !has_usual) return;
  if (is_norm) config.erase("norm_eps");  // the norm brings its own
  const json ours = translated(key, value);
  if (has_usual && (value.is_null() || ours == usual_values()[key])) {
    config.erase(key);
  } else {
    allow_vit_settings(config, key);
    config[key] = ours;
  }
  if (!is_norm || !value.is_string()) return;
  if (const double eps = eps_in(value.get<std::string>()); eps != 1e-6) config["norm_eps"] = eps;
}

}  // namespace fovea
