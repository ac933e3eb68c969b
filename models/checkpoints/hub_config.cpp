// Translation of timm's config.json into the names and settings used here.
#include "models/checkpoints/hub_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "models/checkpoints/diffusers_config.h"
#include "models/checkpoints/eva_arguments.h"
#include "models/checkpoints/hub_arguments.h"
#include "models/checkpoints/transformers_config.h"
#include "models/config_reader.h"
#include "models/registry.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void read_colors(ConfigReader& r, const json& object, const char* key,
                 std::array<float, 3>& values) {
  static_cast<void>(r.is_null(key));
  if (!object.contains(key) || object.at(key).is_null()) return;
  const json& given = object.at(key);
  const bool three = given.is_array() && given.size() == 3 &&
                     std::all_of(given.begin(), given.end(), [](const json& value) {
                       return value.is_number() && std::abs(value.get<double>()) < 1e6;
                     });
  check(three, key, ": got ", json_text(given), ", expected three finite numbers of moderate size");
  for (std::size_t c = 0; c < 3; ++c) values[c] = given[c].get<float>();
}

std::string text_at(const json& object, const char* key, const std::string& otherwise) {
  if (!object.contains(key) || object.at(key).is_null()) return otherwise;
  check(object.at(key).is_string(), key, ": got ", json_text(object.at(key)),
        ", expected a string");
  return object.at(key).get<std::string>();
}

void read_preprocessing(const json& object, HubConfig& hub) {
  ConfigReader r("pretrained_cfg", object);
  const auto has = [&](const char* key) {
    return object.contains(key) && !object.at(key).is_null();
  };
  hub.has_mean = has("mean");
  hub.has_std = has("std");
  hub.has_crop = has("crop_pct");
  read_colors(r, object, "mean", hub.mean);
  read_colors(r, object, "std", hub.deviation);
  for (const float value : hub.deviation) {
    check(value > 0, "std: got ", value, ", expected three positive numbers");
  }
  r.read("crop_pct", hub.crop_pct, 1e-3, 1);
  hub.interpolation = text_at(object, "interpolation", hub.interpolation);
  hub.crop_mode = text_at(object, "crop_mode", hub.crop_mode);
}

/// Reads "input_size": [channels, height, width].
void read_input_size(const json& object, json& config) {
  if (!object.contains("input_size") || object.at("input_size").is_null()) return;
  const json& size = object.at("input_size");
  check(size.is_array() && size.size() == 3, "input_size: got ", json_text(size),
        ", expected [channels, height, width]");
  config["in_chans"] = size[0];
  config["img_size"] = json{size[1], size[2]};
}

/// Class names, as a list or as an object from indices to names; null if there are none.
/// Transformers writes "LABEL_0", "LABEL_1", ... for classes without names; these do not count.
json names_in(const json& root) {
  for (const char* const key : {"label_names", "id2label"}) {
    if (!root.contains(key) || root.at(key).is_null()) continue;
    const json& names = root.at(key);
    check(names.is_array() || names.is_object(), key, ": got ", json_text(names),
          ", expected a list or an object from numbers to names");
    const bool unnamed = names.is_object() && names.value("0", json()) == "LABEL_0";
    if (!unnamed) return names;
  }
  return {};
}

json preset_of(const std::string& architecture) {
  try {
    return preset(architecture);
  } catch (const Error&) {
    fail("architecture: got \"", architecture,
         "\", which is not supported, expected a ViT, DeiT or Eva of timm's (--list-models all)");
  }
}

/// timm's patch embedding, a convolution, leaves out what does not fill a patch.
void crop_like_timm(json& config) {
  const json image = config.value("img_size", json()), patch = config.value("patch_size", json());
  if (!patch.is_number_integer() || patch < 1) return;
  for (const json& side : image.is_array() ? image : json{image}) {
    if (side.is_number_integer() && side.get<std::int64_t>() % patch.get<std::int64_t>() != 0) {
      apply_hub_argument(config, "crop_to_patches", true);
    }
  }
}

HubConfig read_hub_config(const json& root) {
  HubConfig hub;
  hub.architecture = text_at(root, "architecture", "");
  hub.architecture = hub.architecture.substr(0, hub.architecture.find('.'));
  json config = preset_of(hub.architecture);
  // Older files have these keys at the top level.
  const bool nested = root.contains("pretrained_cfg") && root.at("pretrained_cfg").is_object();
  const json& pretrained = nested ? root.at("pretrained_cfg") : root;
  read_preprocessing(pretrained, hub);
  read_input_size(pretrained, config);
  if (pretrained.contains("num_classes")) config["num_classes"] = pretrained.at("num_classes");
  if (root.contains("num_classes")) config["num_classes"] = root.at("num_classes");
  if (root.contains("global_pool"))
    apply_hub_argument(config, "global_pool", root.at("global_pool"));
  if (root.contains("model_args") && !root.at("model_args").is_null()) {
    const json& arguments = root.at("model_args");
    check(arguments.is_object(), "model_args: got ", json_text(arguments), ", expected an object");
    for (const auto& [key, value] : arguments.items()) apply_hub_argument(config, key, value);
  }
  if (is_eva(config)) finish_eva_arguments(config);
  crop_like_timm(config);
  hub.config = json_text(config);
  read_class_names(root, hub);
  return hub;
}

}  // namespace

void read_class_names(const json& root, HubConfig& hub) {
  const json names = names_in(root);
  const json descriptions = root.value("label_descriptions", json());
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string key = std::to_string(k);
    const bool there = names.is_array() || names.contains(key);
    const json name = !there ? json() : names.is_array() ? names[k] : names.at(key);
    std::string& label = hub.label_names.emplace_back("class " + key);
    if (name.is_string()) label = name.get<std::string>();
    if (name.is_number()) label = json_text(name);
    hub.classes.push_back(label);
    if (!descriptions.is_object() || !descriptions.contains(label)) continue;
    const json& description = descriptions.at(label);
    if (description.is_string()) hub.classes.back() = description.get<std::string>();
  }
  if (hub.label_names == hub.classes) hub.label_names.clear();
}

HubConfig parse_hub_config(std::string_view text, const std::string& where) {
  const json root = parse_json(text);
  check(root.is_object(), where, ": is not a JSON object");
  return with_context(where, [&] { return read_hub_config(root); });
}

std::optional<HubConfig> find_hub_config(const fs::path& weights) {
  const fs::path path = weights.parent_path() / "config.json";
  if (!fs::is_regular_file(path)) return {};
  const std::string text = read_file(path);
  const json root = parse_json(text);
  if (is_transformers_config(root)) return read_transformers_config(root, weights.parent_path());
  if (is_diffusers_vae_config(root)) {
    return with_context(path.string(), [&] { return read_diffusers_vae_config(root); });
  }
  if (!root.is_object() || !root.contains("architecture")) return {};
  return parse_hub_config(text, path.string());
}

}  // namespace fovea
