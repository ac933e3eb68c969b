// Recipes, and the settings that weights to fine-tune bring: a hub's config.json, a run's own.
#include "train/start/starting_point.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/weights_folder.h"
#include "models/config_fields.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "models/shapes_only.h"
#include "train/run/run_paths.h"
#include "train/run/weights_info.h"
#include "train/settings/recipes.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What weights say about their model.
struct Origin {
  std::string where;  ///< the file that says so
  HubConfig config;
  bool is_hub = false;  ///< false: weights that a run here has written
};

TaskKind task_of_config(const HubConfig& hub) {
  return *task_of_family(json::parse(hub.config).at("family").get<std::string>());
}

/// The config.json beside the weights of a classifier; empty if these are not in a hub's folder.
std::optional<Origin> find_hub(const std::string& weights) {
  if (!fs::is_directory(weights)) return {};
  std::optional<HubConfig> config = find_hub_config(weights_in(weights));
  if (!config || task_of_config(*config) != TaskKind::classification) return {};
  return Origin{(fs::path(weights) / "config.json").string(), std::move(*config), true};
}

/// A whole configuration without the settings that the model's name implies.
json beside_name(json config, const std::string& name) {
  const ShapesOnly shapes(name, INT64_MAX);
  const json usual = parse_json(make_model(name, {})->info().config);
  for (const auto& [key, value] : usual.items()) {
    if (key != "family" && config.contains(key) && config.at(key) == value) config.erase(key);
  }
  return config;
}

/// What a run has written into the file of its weights, of a model of that task; else empty, also
/// for a file that cannot be read, which loading it says.
std::optional<Origin> find_run(const std::string& weights, TaskKind task) try {
  if (weights.empty() || !fs::exists(weights)) return {};
  const fs::path file = weights_in(weights);
  const Metadata metadata = read_metadata(file);
  const json config = parse_json(value_or(metadata, "config", ""));
  const std::string name = value_or(metadata, "model", "");
  if (!config.is_object() || task_of(name) != task) return {};
  const WeightsInfo info = weights_info(metadata, file);
  HubConfig origin;
  origin.architecture = name;
  origin.config = json_text(beside_name(config, name));
  origin.mean = info.normalization.mean;
  origin.deviation = info.normalization.deviation;
  origin.crop_pct = info.crop.crop_pct;
  origin.interpolation = name_of(info.crop.filter);
  origin.crop_mode = name_of(info.crop.mode);
  return Origin{file.string(), std::move(origin)};
} catch (const Error&) {
  return {};
}

/// The task of the model whose weights a run has written; empty for other files.
std::optional<TaskKind> task_of_run(const fs::path& weights) try {
  const json config = parse_json(value_or(read_metadata(weights), "config", ""));
  return config.is_object() ? task_of_family(config.value("family", "")) : std::nullopt;
} catch (const Error&) {
  return {};
}

std::optional<Origin> find_origin(const std::string& weights, TaskKind task) {
  std::optional<Origin> hub;
  if (task == TaskKind::classification) hub = find_hub(weights);
  return hub ? hub : find_run(weights, task);
}

/// A plain DeiT with settings that only ViTs have is a ViT of the same sizes.
std::string model_name(const HubConfig& hub) {
  const json config = json::parse(hub.config);
  const std::string& name = hub.architecture;
  if (preset(name).at("family") == config.at("family")) return name;
  return config.at("family").get<std::string>() + name.substr(name.find('_'));
}

std::string text_of_value(const json& value, ModelFlag::Kind kind) {
  const bool is_size = kind == ModelFlag::Kind::size && value.is_array() && value.size() == 2;
  if (is_size) return json_text(value[0]) + "x" + json_text(value[1]);
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

/// The flag of a model setting's key, peg-kernel of peg_kernel, or the other way round.
std::string replaced(std::string name, char from, char to) {
  std::replace(name.begin(), name.end(), from, to);
  return name;
}

/// Rates of dropping, which are the new run's own.
bool is_only_for_training(const std::string& key) {
  return key == "drop_path" || key.ends_with("drop_rate");
}

/// The model and those of its settings that its name does not imply.
std::vector<Setting> model_settings(const HubConfig& hub) {
  const std::string name = model_name(hub);
  const json usual = preset(name), config = json::parse(hub.config);
  std::vector<Setting> settings{{"model", name}};
  json others = json::object();
  std::map<std::string, ModelFlag::Kind> flags;
  for (const ModelFlag& flag : model_flags(task_of_config(hub))) flags[flag.key] = flag.kind;
  for (const auto& [key, value] : config.items()) {
    if (key == "num_classes" || key == "family") continue;  // the run's own; the name's
    if (is_only_for_training(key)) continue;
    if (key == "in_chans" && value == 3) continue;
    if (usual.contains(key) && usual.at(key) == value) continue;
    if (!flags.contains(key)) {
      others[key] = value;
      continue;
    }
    settings.push_back({replaced(key, '_', '-'), text_of_value(value, flags.at(key))});
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

/// How the run of these weights made training images of whole pictures, which a detector or depth
/// model is to see again; empty if its settings are gone.
std::vector<Setting> geometry_of(const std::string& weights, const TrainConfig& config) {
  const RunPaths run{fs::path(weights).parent_path()};
  if (config.task->kind() == TaskKind::classification || !fs::exists(run.config())) return {};
  TrainConfig any = config;
  std::vector<Setting> settings =
      settings_in_json(fields_of(any), read_file(run.config()), run.config().string(),
                       settings_of_others(config.task->kind()), OthersAre::ignored);
  std::erase_if(settings, [](const Setting& s) {
    return s.name != "train-crop-mode" && s.name != "crop-padding" && s.name != "pad-multiple" &&
           s.name != "train-interpolation";
  });
  return settings;
}

/// What the weights set: the model, if it is wanted, and the preprocessing of images.
std::vector<Setting> settings_of(const Origin& origin, bool with_model, const TrainConfig& config) {
  std::vector<Setting> settings;
  if (with_model) settings = model_settings(origin.config);
  for (Setting& setting : image_settings(origin.config)) settings.push_back(std::move(setting));
  if (!origin.is_hub) {
    for (Setting& setting : geometry_of(origin.where, config))
      settings.push_back(std::move(setting));
  }
  for (Setting& setting : settings) setting.source = origin.where;
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
  const std::optional<Origin> origin = find_origin(setting_text(asked, "finetune"), task);
  // A classifier that starts from another run keeps its own data set's recipe.
  const bool has_recipe = origin && (origin->is_hub || task != TaskKind::classification);
  const bool finetunes = has_recipe && !finetuning.empty() && setting_text(asked, "config").empty();
  start.recipe = finetunes ? finetuning : recipe_of(config.data.name, task);
  std::vector<Setting> recipe =
      settings_in_json(fields_of(config), recipe_text(start.recipe), "recipe " + start.recipe,
                       settings_of_others(task));
  const std::string model = setting_text(asked, "model");
  const bool takes_model = origin && (model.empty() || model == model_name(origin->config));
  if (takes_model || !model.empty()) {
    // A model that is named has the registry's settings: the recipe's are for the recipe's model.
    const ModelSettings flags;
    std::erase_if(recipe,
                  [&](const Setting& s) { return flags.contains(replaced(s.name, '-', '_')); });
  }
  apply_settings(config, recipe);
  if (!origin) return start;
  start.weights = origin->where;
  try {
    apply_settings(config, settings_of(*origin, takes_model, config));
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
                         !setting_text(given, "config").empty() || !start.weights.empty();
  const TaskKind task = start.config.task->kind();
  if (has_model || !fs::is_directory(weights)) return;
  const std::string file = weights_in(weights).filename().string();
  const bool is_classifier = task == TaskKind::classification;
  check(!is_classifier || file.starts_with("best.") || file.starts_with("last."),
        "--finetune: ", weights.string(),
        " has no config.json of a classifier, so the model of its ", file,
        " is unknown; put the hub's config.json next to it, or add --model NAME");
  const std::optional<TaskKind> other = task_of_run(weights_in(weights));
  check(is_classifier || !other || *other == task, "--finetune: ", weights.string(), ": its ", file,
        " is of ", noun_of(other.value_or(task)), ", expected of ", noun_of(task),
        "; with the weights of another model add --model NAME");
}

void keep_model_args(const StartingPoint& start, TrainConfig& config) {
  const std::string first = args_of(start.config), own = args_of(config);
  if (start.weights.empty() || first.empty() || own == first) return;
  json args = parse_json(first);
  const json given = parse_config_value(own);
  if (!given.is_object()) return;  // rejected by check_config()
  args.update(given);
  const std::string source = source_of(config.sources, "model-args") + " and " + start.weights;
  apply_settings(config, {{"model-args", json_text(args), source}});
}

}  // namespace fovea
