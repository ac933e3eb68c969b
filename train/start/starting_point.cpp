// Recipes, and the settings in a hub's config.json.
#include "train/start/starting_point.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/weights_folder.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "train/settings/recipes.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kModelArgs = "model-args";

struct Hub {
  std::string where;  ///< its config.json
  HubConfig config;
};

TaskKind task_of_config(const HubConfig& hub) {
  return *task_of_family(json::parse(hub.config).at("family").get<std::string>());
}

/// The config.json beside the weights of a classifier; empty if these are not in a hub's folder.
std::optional<Hub> find_hub(const std::string& weights) {
  if (!fs::is_directory(weights)) return {};
  std::optional<HubConfig> config = find_hub_config(weights_in(weights));
  if (!config || task_of_config(*config) != TaskKind::classification) return {};
  return Hub{(fs::path(weights) / "config.json").string(), std::move(*config)};
}

/// A plain DeiT with settings that only ViTs have is a ViT of the same sizes.
std::string model_name(const HubConfig& hub) {
  const json config = json::parse(hub.config);
  const std::string& name = hub.architecture;
  if (preset(name).at("family") == config.at("family")) return name;
  return config.at("family").get<std::string>() + name.substr(name.find('_'));
}

std::string text_of_value(const json& value) {
  const bool is_size = value.is_array() && value.size() == 2 && value[0].is_number_integer();
  if (is_size) return json_text(value[0]) + "x" + json_text(value[1]);
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

/// The model and those of its settings that its name does not imply.
std::vector<Setting> model_settings(const HubConfig& hub) {
  const std::string name = model_name(hub);
  const json usual = preset(name), config = json::parse(hub.config);
  std::vector<Setting> settings{{"model", name}};
  json others = json::object();
  const ModelSettings flags;
  for (const auto& [key, value] : config.items()) {
    if (key == "num_classes" || key == "family") continue;  // the run's own; the name's
    if (key == "in_chans" && value == 3) continue;
    if (usual.contains(key) && usual.at(key) == value) continue;
    if (!flags.contains(key)) {
      others[key] = value;
      continue;
    }
    std::string flag = key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    settings.push_back({flag, text_of_value(value)});
  }
  if (!others.empty()) settings.push_back({kModelArgs, json_text(others)});
  return settings;
}

std::vector<Setting> image_settings(const HubConfig& hub) {
  const auto channels = [](const std::array<float, 3>& values) {
    std::string text;
    for (const float value : values) {
      text.append(text.empty() ? "" : ",").append(shortest_text(decimal_of(value)));
    }
    return text;
  };
  return {{"mean", channels(hub.mean)},
          {"std", channels(hub.deviation)},
          {"crop-pct", shortest_text(hub.crop_pct)},
          {"crop-mode", hub.crop_mode},
          {"interpolation", hub.interpolation}};
}

/// Sets `settings`, and gives them the texts of their fields.
void take(std::vector<Setting>& settings, TrainConfig& config, const std::string& where) {
  const Fields fields = fields_of(config);
  try {
    for (Setting& setting : settings) {
      const Field& field = find_field(fields, setting.name, "setting");
      set_field(field, setting.text);
      setting.text = field_text(field);
    }
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
}

std::string args_of(const TrainConfig& config) {
  ModelSettings settings = config.model.settings;
  return settings["model_args"];
}

}  // namespace

StartingPoint starting_point(const TrainConfig& wanted) {
  const TaskKind task = wanted.task->kind();
  const std::string_view finetuning = finetuning_recipe(task);
  std::optional<Hub> hub;
  if (!finetuning.empty()) hub = find_hub(wanted.weights.finetune);
  const bool finetunes = hub && wanted.request.config.empty();
  StartingPoint start;
  start.recipe = finetunes ? finetuning : recipe_of(wanted.data.name, task);
  start.config = config_for(task);
  apply_json(fields_of(start.config), recipe_text(start.recipe), "recipe " + start.recipe,
             settings_of_others(task));
  start.config.data.name = wanted.data.name;
  const std::string& name = wanted.model.name;
  // A model given by name has the registry's settings: the recipe's model settings apply only to
  // the recipe's model.
  const bool takes_model = hub && (name.empty() || name == model_name(hub->config));
  if (takes_model || !name.empty()) start.config.model.settings = {};
  if (!hub) return start;
  if (takes_model) start.taken = model_settings(hub->config);
  for (Setting& setting : image_settings(hub->config)) start.taken.push_back(std::move(setting));
  take(start.taken, start.config, hub->where);
  return start;
}

void check_weights(const TrainConfig& wanted, const StartingPoint& start) {
  const fs::path weights = wanted.weights.finetune;
  if (weights.empty()) return;
  check(fs::exists(weights), "--finetune: ", weights.string(),
        " does not exist, expected a hub's folder, a run directory or a weights file");
  const bool has_model =
      !wanted.model.name.empty() || !wanted.request.config.empty() || !start.taken.empty();
  const bool is_of_task = !finetuning_recipe(wanted.task->kind()).empty();
  if (has_model || !is_of_task || !fs::is_directory(weights)) return;
  const std::string file = weights_in(weights).filename().string();
  check(file.starts_with("best.") || file.starts_with("last."), "--finetune: ", weights.string(),
        " has no config.json of a classifier, so the model of its ", file,
        " is unknown; put the hub's ", "config.json next to it, or add --model NAME");
}

void keep_model_args(const StartingPoint& start, TrainConfig& config) {
  const std::string first = args_of(start.config), own = args_of(config);
  if (start.taken.empty() || first.empty() || own == first) return;
  json args = parse_json(first);
  const json given = parse_config_value(own);
  if (!given.is_object()) return;  // rejected by check_config()
  args.update(given);
  config.model.settings["model_args"] = json_text(args);
}

}  // namespace fovea
