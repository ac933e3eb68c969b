// Absolute data folders, and validation images that other weights know.
#include "train/start/data_origin.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/weights_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The files of the initial weights, of which a run has at most one.
std::string first_weights(const InitialWeights& weights) {
  return weights.finetune.empty() ? weights.checkpoint : weights.finetune;
}

std::set<std::string> names_of(const Dataset& dataset) {
  std::set<std::string> names;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    ListEntry entry;
    dataset.list_entry(i, entry);
    names.insert(entry.name);
  }
  return names;
}

DatasetOptions with(DatasetOptions options, const HoldOut& how) {
  options.val_fraction = how.fraction;
  options.val_rule = how.rule;
  options.val_seed = how.seed;
  return options;
}

/// The images of this run's data that `held` describes; null if the data are others.
std::shared_ptr<const Dataset> same_part(const TrainConfig& config, const HeldOut& held) try {
  const auto theirs = open_dataset(with(dataset_options(config), held.how), Split::test);
  return list_digest(*theirs) == held.list ? theirs : nullptr;
} catch (const Error&) {
  return nullptr;
}

/// What settings_with_origin() wrote under a key; "" if it did not.
std::string about_data(const char* key, std::string_view settings) {
  const json all = parse_json(settings);
  const json::json_pointer place = json::json_pointer("/about/data") / key;
  if (!all.is_object() || !all.contains(place) || !all.at(place).is_string()) return {};
  return all.at(place).get<std::string>();
}

}  // namespace

std::string settings_with_origin(const TrainConfig& config, const Dataset& test) {
  TrainConfig copy = config;  // fields need variables to write to
  json data{{"test-list", list_digest(test)}};
  if (data_kind(config.data.name) != DataKind::drawn)
    data["folder"] = fs::absolute(data_folder(config.data)).lexically_normal().string();
  return to_json(fields_of(copy), json_text(json{{"data", data}}));
}

std::string data_folder_in(std::string_view settings) { return about_data("folder", settings); }

std::string test_list_in(std::string_view settings) { return about_data("test-list", settings); }

void find_data_folder(std::string_view settings, TrainConfig& config) {
  if (data_folder(config.data).is_absolute()) return;
  const fs::path folder = data_folder_in(settings);
  std::error_code none;
  if (folder.is_absolute() && fs::exists(folder, none)) config.data.data_dir = folder;
}

std::optional<HeldOut> held_out_part(const TrainConfig& config, const Dataset& test) {
  const DatasetOptions options = dataset_options(config);
  if (options.val_fraction == 0) return {};
  return HeldOut{
      {options.val_fraction, options.val_rule.value_or(HoldOutRule::number), options.val_seed},
      list_digest(test)};
}

void note_leak(const TrainConfig& config, const Dataset& test, Notices& notices) {
  const std::string weights = first_weights(config.weights);
  if (weights.empty() || config.data.val_fraction == 0) return;
  const fs::path file = weights_in(weights);
  const std::optional<HeldOut> held = held_out(read_metadata(file), file.string());
  if (!held) return;
  const auto theirs = same_part(config, *held);
  if (theirs == nullptr) return;
  const std::set<std::string> known = names_of(*theirs);
  std::int64_t leaked = 0;
  for (const std::string& name : names_of(test)) leaked += known.contains(name) ? 0 : 1;
  if (leaked == 0) return;
  notices.add(file.string(), ": was trained with ", leaked, " of the ", test.size(),
              " images that this run holds out for validation, so its scores are too good; --seed ",
              held->how.seed, " --val-fraction ", shortest_text(held->how.fraction),
              " --val-fraction-rule ", name_of(held->how.rule), " holds out the same as then");
}

}  // namespace fovea
