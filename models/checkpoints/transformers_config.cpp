// Translation of transformers' settings, model by model.
#include "models/checkpoints/transformers_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "models/checkpoints/transformers_images.h"
#include "models/config_reader.h"
#include "models/registry.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array kSizes{"embed_dim", "depth", "num_heads"};

/// What transformers assumes for a key that a file leaves out.
json defaults_of(const std::string& type) {
  json config{{"hidden_size", 768},        {"num_hidden_layers", 12}, {"num_attention_heads", 12},
              {"intermediate_size", 3072}, {"hidden_act", "gelu"},    {"layer_norm_eps", 1e-12},
              {"image_size", 224},         {"patch_size", 16},        {"num_channels", 3},
              {"qkv_bias", true},          {"projection_dim", 512}};
  if (type.starts_with("dinov2")) {
    config.update({{"mlp_ratio", 4}, {"layer_norm_eps", 1e-6}, {"patch_size", 14}});
    config.update({{"use_swiglu_ffn", false}, {"num_register_tokens", 4}});
  }
  if (type == "dinov3_vit") {
    config.update({{"hidden_size", 384},
                   {"num_attention_heads", 6},
                   {"intermediate_size", 1536},
                   {"layer_norm_eps", 1e-5},
                   {"rope_theta", 100.0},
                   {"query_bias", true},
                   {"key_bias", false},
                   {"value_bias", true},
                   {"proj_bias", true},
                   {"mlp_bias", true},
                   {"use_gated_mlp", false},
                   {"num_register_tokens", 0},
                   {"pos_embed_shift", nullptr},
                   {"pos_embed_jitter", nullptr},
                   {"pos_embed_rescale", 2.0}});
  }
  if (type == "clip_vision_model") {
    config.update({{"layer_norm_eps", 1e-5}, {"patch_size", 32}, {"hidden_act", "quick_gelu"}});
  }
  if (type == "vit_mae") {
    config.update({{"decoder_hidden_size", 512},
                   {"decoder_num_hidden_layers", 8},
                   {"decoder_num_attention_heads", 16},
                   {"decoder_intermediate_size", 2048},
                   {"mask_ratio", 0.75},
                   {"norm_pix_loss", false}});
  }
  return config;
}

/// One model's settings, with checks of their types.
class TransformersSettings {
 public:
  explicit TransformersSettings(const json& root) : root_(root), type_(root.at("model_type")) {
    const bool is_whole_clip = type_ == "clip";
    if (is_whole_clip) type_ = "clip_vision_model";
    values_ = defaults_of(type_);
    const json& own = is_whole_clip ? root.value("vision_config", json::object()) : root;
    check(own.is_object(), "vision_config: got ", json_text(own), ", expected an object");
    for (const auto& [key, value] : own.items()) {
      if (!value.is_null() || key.starts_with("pos_embed_")) values_[key] = value;
    }
    if (is_whole_clip && root.contains("projection_dim")) {
      values_["projection_dim"] = root.at("projection_dim");
    }
    const json& classes = root.value("architectures", json::array());
    if (classes.is_array() && !classes.empty() && classes[0].is_string()) {
      class_ = classes[0].get<std::string>();
    }
  }

  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] bool is_class(std::string_view end) const { return class_.ends_with(end); }

  [[nodiscard]] std::int64_t integer(const char* key) const {
    const json& value = values_.at(key);
    const bool fits =
        value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() <= (1 << 24);
    check(fits, key, ": got ", json_text(value), ", expected a whole number");
    return value.get<std::int64_t>();
  }
  [[nodiscard]] double number(const char* key) const {
    const json& value = values_.at(key);
    check(value.is_number(), key, ": got ", json_text(value), ", expected a number");
    return value.get<double>();
  }
  /// Null means none.
  [[nodiscard]] json number_or_null(const char* key) const {
    return values_.at(key).is_null() ? json() : json(number(key));
  }
  [[nodiscard]] bool flag(const char* key) const {
    const json& value = values_.at(key);
    check(value.is_boolean(), key, ": got ", json_text(value), ", expected true or false");
    return value.get<bool>();
  }

  /// [height, width], or one number for both.
  [[nodiscard]] json size(const char* key) const {
    const json& value = values_.at(key);
    return value.is_number() ? json{value, value} : value;
  }

  /// The side of square patches.
  [[nodiscard]] json patch() const {
    const json both = size("patch_size");
    const bool square = both.is_array() && both.size() == 2 && both[0] == both[1];
    check(square, "patch_size: got ", json_text(both), ", expected square patches");
    return both[0];
  }

  [[nodiscard]] std::string activation() const {
    static const std::map<std::string, std::string> names{
        {"gelu", "gelu"},           {"gelu_python", "gelu"},
        {"gelu_new", "gelu_tanh"},  {"gelu_pytorch_tanh", "gelu_tanh"},
        {"gelu_fast", "gelu_tanh"}, {"quick_gelu", "quick_gelu"},
        {"silu", "silu"},           {"swish", "silu"}};
    const json& value = values_.at("hidden_act");
    const auto found = names.find(value.is_string() ? value.get<std::string>() : "");
    check(found != names.end(), "hidden_act: got ", json_text(value),
          ", expected gelu, gelu_new, gelu_pytorch_tanh, quick_gelu or silu");
    return found->second;
  }

  /// Classes of the head; 0 without a head. Transformers writes no names for two unnamed classes.
  [[nodiscard]] std::int64_t classes() const {
    if (is_class("WithProjection") || is_class("CLIPModel")) return integer("projection_dim");
    const bool classifies = class_.find("ForImageClassification") != std::string::npos;
    const json names = root_.value("id2label", json());
    if (names.is_object() && (classifies || class_.empty())) return std::ssize(names);
    if (!classifies) return 0;
    const json count = root_.value("num_labels", json(2));
    check(count.is_number_integer() && count.get<double>() >= 0, "num_labels: got ",
          json_text(count), ", expected a whole number");
    return count.get<std::int64_t>();
  }

 private:
  const json& root_;
  std::string type_, class_;
  json values_;
};

/// The ratio from which a model computes exactly `hidden` as floor(width * ratio).
double ratio_of(std::int64_t hidden, std::int64_t width) {
  check(width > 0, "hidden_size: got 0, expected a positive number");
  const auto d = static_cast<double>(width), h = static_cast<double>(hidden);
  const double ratio = h / d;
  return std::floor(d * ratio) < h ? std::nextafter(ratio, 2 * ratio + 1) : ratio;
}

json encoder_of(const TransformersSettings& s) {
  json config{{"family", "vit"},
              {"img_size", s.size("image_size")},
              {"patch_size", s.patch()},
              {"in_chans", s.integer("num_channels")},
              {"embed_dim", s.integer("hidden_size")},
              {"depth", s.integer("num_hidden_layers")},
              {"num_heads", s.integer("num_attention_heads")},
              {"qkv_bias", s.flag("qkv_bias")},
              {"norm_eps", s.number("layer_norm_eps")},
              {"num_classes", s.classes()}};
  const std::string activation = s.activation();
  if (activation != "gelu") config["act_layer"] = activation;
  if (s.type().starts_with("dinov2")) return config;
  config["mlp_ratio"] = ratio_of(s.integer("intermediate_size"), s.integer("hidden_size"));
  return config;
}

/// A DeiT with one head has a distillation token that no head reads: a register token.
void add_deit(const TransformersSettings& s, json& config) {
  if (s.is_class("WithTeacher")) {
    config.update({{"family", "deit"}, {"distilled", true}});
  } else {
    config["reg_tokens"] = 1;
  }
}

void add_mae(const TransformersSettings& s, json& config) {
  if (!s.is_class("ForPreTraining")) return;
  const double ratio =
      ratio_of(s.integer("decoder_intermediate_size"), s.integer("decoder_hidden_size"));
  check(ratio == config["mlp_ratio"].get<double>(), "decoder_intermediate_size: got ",
        s.integer("decoder_intermediate_size"),
        ", expected the same multiple of decoder_hidden_size as in the encoder");
  config.erase("num_classes");
  config.update({{"family", "mae"},
                 {"pos_embed", "learned"},
                 {"decoder_embed_dim", s.integer("decoder_hidden_size")},
                 {"decoder_depth", s.integer("decoder_num_hidden_layers")},
                 {"decoder_num_heads", s.integer("decoder_num_attention_heads")},
                 {"mask_ratio", s.number("mask_ratio")},
                 {"norm_pix_loss", s.flag("norm_pix_loss")}});
}

/// A gated MLP has two thirds of the hidden channels, rounded up to a multiple of 8.
void add_dinov2(const TransformersSettings& s, json& config) {
  // A classifier's head reads the class token beside the mean of the patches. No model here does.
  config["num_classes"] = 0;
  const std::int64_t width = s.integer("hidden_size");
  auto hidden = static_cast<std::int64_t>(static_cast<double>(width) * s.number("mlp_ratio"));
  config["init_values"] = 1.0;
  if (s.flag("use_swiglu_ffn")) {
    const auto part = static_cast<std::int64_t>(static_cast<double>(hidden) * 2 / 3);
    hidden = 2 * ((part + 7) / 8 * 8);  // gate and value
    config.update({{"mlp_layer", "glu"}, {"act_layer", "silu"}});
  }
  config["mlp_ratio"] = ratio_of(hidden, width);
  if (s.type() != "dinov2_with_registers") return;
  config.update({{"reg_tokens", s.integer("num_register_tokens")}, {"no_embed_class", true}});
}

/// DINOv3 is a model of timm's class Eva, with queries, keys and values apart.
void add_dinov3(const TransformersSettings& s, json& config) {
  check(s.flag("proj_bias") && s.flag("mlp_bias"),
        "proj_bias, mlp_bias: got false, which is not supported, expected true");
  const bool biased = s.flag("query_bias"), key_biased = s.flag("key_bias");
  check(s.flag("value_bias") == biased && (biased || !key_biased),
        "query_bias, key_bias, value_bias: got ", biased, ", ", key_biased, ", ",
        s.flag("value_bias"), ", expected all, none, or all but the keys'");
  config.update({{"num_classes", 0},
                 {"block_fn", "eva"},
                 {"attn_type", key_biased ? "rope" : "eva"},
                 {"qkv_bias", biased},
                 {"qkv_fused", false},
                 {"init_values", 1.0},
                 {"reg_tokens", s.integer("num_register_tokens")},
                 {"pos_embed", "none"},
                 {"rope", "axial"},
                 {"rope_temperature", s.number("rope_theta")},
                 {"rope_grid", "centered"},
                 {"rope_grid_indexing", "ij"},
                 {"rope_rotate_half", true},
                 {"rope_shift_coords", s.number_or_null("pos_embed_shift")},
                 {"rope_jitter_coords", s.number_or_null("pos_embed_jitter")},
                 {"rope_rescale_coords", s.number_or_null("pos_embed_rescale")},
                 {"dynamic_img_size", true}});
  if (s.flag("use_gated_mlp")) config["mlp_layer"] = "swiglu";
}

/// A classifier reads the mean of the patches, without the last norm.
void add_clip(const TransformersSettings& s, json& config) {
  config["pre_norm"] = true;
  if (!s.is_class("ForImageClassification")) return;
  config.update({{"global_pool", "avg"}, {"fc_norm", false}, {"final_norm", false}});
}

/// The registry's name of a model of these sizes; of another width or depth, the name of "base".
std::string name_of_sizes(const json& config) {
  if (config.at("family") == "mae") return "mae";
  std::array<std::int64_t, 2> image{};
  std::int64_t patch = 0;
  ConfigReader r("model config", config);
  r.read_size("img_size", image);
  r.read("patch_size", patch, 1, 65536);
  const std::string side = std::to_string(image[0]);
  const auto name_of = [&](const char* size) {
    return concat(config.at("family").get<std::string>(), "_", size,
                  config.value("distilled", false) ? "_distilled" : "", "_patch", patch, "_", side,
                  image[0] == image[1] ? "" : "x" + std::to_string(image[1]));
  };
  for (const char* size : {"tiny", "small", "base", "large", "huge"}) {
    const json sizes = preset(name_of(size));
    const bool equal = std::all_of(kSizes.begin(), kSizes.end(), [&](const char* key) {
      return sizes.at(key) == config.at(key);
    });
    if (equal) return name_of(size);
  }
  return name_of("base");
}

}  // namespace

bool is_transformers_config(const json& root) {
  constexpr std::array kTypes{"vit",
                              "deit",
                              "vit_mae",
                              "dinov2",
                              "dinov2_with_registers",
                              "dinov3_vit",
                              "dinov3_convnext",
                              "clip",
                              "clip_vision_model"};
  const json type = root.is_object() ? root.value("model_type", json()) : json();
  return type.is_string() &&
         std::find(kTypes.begin(), kTypes.end(), type.get<std::string>()) != kTypes.end();
}

HubConfig read_transformers_config(const json& root, const fs::path& folder) {
  HubConfig hub;
  try {
    const TransformersSettings settings(root);
    check(
        settings.type() != "dinov3_convnext",
        "model_type: got dinov3_convnext, a convolutional network, expected a vision transformer");
    json config = encoder_of(settings);
    if (settings.type() == "deit") add_deit(settings, config);
    if (settings.type() == "vit_mae") add_mae(settings, config);
    if (settings.type().starts_with("dinov2")) add_dinov2(settings, config);
    if (settings.type() == "dinov3_vit") add_dinov3(settings, config);
    if (settings.type() == "clip_vision_model") add_clip(settings, config);
    hub.pos_resize = PosResize::deit;
    if (config.value("num_classes", 0) > 0) read_class_names(root, hub);
    read_transformers_images(folder, settings.type(), config, hub);
    hub.architecture = name_of_sizes(config);
    hub.config = json_text(config);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(folder.string())) throw;
    fail((folder / "config.json").string(), ": ", message);
  }
  return hub;
}

}  // namespace fovea
