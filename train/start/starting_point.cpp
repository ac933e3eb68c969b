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

/// The flag of a model setting's key, peg-kernel of peg_kernel, or the other way round.
std::string replaced(std::string name, char from, char to) {
  std::replace(name.begin(), name.end(), from, to);
  return name;
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
    settings.push_back({replaced(key, '_', '-'), text_of_value(value)});
  }
  if (!others.empty()) settings.push_back({"model-args", json_text(others)});
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

/// What the config.json sets: the model, if it is wanted, and the preprocessing of images.
std::vector<Setting> settings_of(const Hub& hub, bool with_model) {
  std::vector<Setting> settings;
  if (with_model) settings = model_settings(hub.config);
  for (Setting& setting : image_settings(hub.config)) settings.push_back(std::move(setting));
  for (Setting& setting : settings) setting.source = hub.where;
  return settings;
}

std::string args_of(const TrainConfig& config) {
  ModelSettings settings = config.model.settings;
  return settings["model_args"];
}

}  // namespace

StartingPoint starting_point(TaskKind task, const std::vector<Setting>& asked) {
  StartingPoint start;
  TrainConfig& config = start.config;
  config = config_for(task);
  apply_settings(config, {*find_setting(asked, "dataset")});  // refuses an unknown one
  const std::string_view finetuning = finetuning_recipe(task);
  std::optional<Hub> hub;
  if (!finetuning.empty()) hub = find_hub(setting_text(asked, "finetune"));
  const bool finetunes = hub && setting_text(asked, "config").empty();
  start.recipe = finetunes ? finetuning : recipe_of(config.data.name, task);
  std::vector<Setting> recipe =
      settings_in_json(fields_of(config), recipe_text(start.recipe), "recipe " + start.recipe,
                       settings_of_others(task));
  const std::string model = setting_text(asked, "model");
  const bool takes_model = hub && (model.empty() || model == model_name(hub->config));
  if (takes_model || !model.empty()) {
    // A model that is named has the registry's settings: the recipe's are for the recipe's model.
    const ModelSettings flags;
    std::erase_if(recipe,
                  [&](const Setting& s) { return flags.contains(replaced(s.name, '-', '_')); });
  }
  apply_settings(config, recipe);
  if (!hub) return start;
  start.hub = hub->where;
  try {
    apply_settings(config, settings_of(*hub, takes_model));
  } catch (const UsageError& error) {  // the file's mistake, not the command's
    throw Error(error.what());
  }
  return start;
}

void check_weights(const std::vector<Setting>& given, const StartingPoint& start) {
  const fs::path weights = setting_text(given, "finetune");
  if (weights.empty()) return;
  check(fs::exists(weights), "--finetune: ", weights.string(),
        " does not exist, expected a hub's folder, a run directory or a weights file");
  const bool has_model = !setting_text(given, "model").empty() ||
                         !setting_text(given, "config").empty() || !start.hub.empty();
  const bool is_of_task = !finetuning_recipe(start.config.task->kind()).empty();
  if (has_model || !is_of_task || !fs::is_directory(weights)) return;
  const std::string file = weights_in(weights).filename().string();
  check(file.starts_with("best.") || file.starts_with("last."), "--finetune: ", weights.string(),
        " has no config.json of a classifier, so the model of its ", file,
        " is unknown; put the hub's ", "config.json next to it, or add --model NAME");
}

void keep_model_args(const StartingPoint& start, TrainConfig& config) {
  const std::string first = args_of(start.config), own = args_of(config);
  if (start.hub.empty() || first.empty() || own == first) return;
  json args = parse_json(first);
  const json given = parse_config_value(own);
  if (!given.is_object()) return;  // rejected by check_config()
  args.update(given);
  const std::string source = source_of(config.sources, "model-args") + " and " + start.hub;
  apply_settings(config, {{"model-args", json_text(args), source}});
}

}  // namespace fovea
