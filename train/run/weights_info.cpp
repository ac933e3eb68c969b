// Metadata of weights, and defaults for weights written by other programs.
#include "train/run/weights_info.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/names.h"
#include "engine/base/text.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/pretrained.h"

namespace fovea {
namespace {

using nlohmann::json;

std::array<float, 3> channel_values(const std::string& text, std::array<float, 3> otherwise) {
  const json values = parse_json(text);
  if (!values.is_array() || values.size() != 3) return otherwise;
  for (std::size_t c = 0; c < 3; ++c) {
    if (!values[c].is_number()) return otherwise;
    otherwise[c] = values[c].get<float>();
  }
  return otherwise;
}

double number_or(const Metadata& metadata, const std::string& key, double otherwise) {
  const json value = parse_json(value_or(metadata, key, ""));
  return value.is_number() ? value.get<double>() : otherwise;
}

/// The preprocessing and classes of weights written by another program.
WeightsInfo foreign_weights_info(const std::filesystem::path& path) {
  WeightsInfo info;
  info.normalization = kImageNetNormalization;
  info.crop.mode = CropMode::center;
  const std::optional<HubConfig> hub = find_hub_config(path);
  if (!hub) return info;
  for (const std::string& name : hub->classes) info.classes.push_back(visible_text(name));
  for (const std::string& name : hub->label_names) info.labels.push_back(visible_text(name));
  info.normalization = {hub->mean, hub->deviation};
  info.crop.crop_pct = hub->crop_pct;
  info.crop.mode = parse_name<CropMode>("crop_mode", hub->crop_mode);
  info.crop.filter = parse_name<Filter>("interpolation", hub->interpolation);
  return info;
}

/// The ids that --compact-ids numbered.
CategoryIds category_ids(const Metadata& metadata, const std::string& context) {
  const json ids = parse_json(value_or(metadata, "category_ids", "[]"));
  const bool are_ids = ids.is_array() && std::all_of(ids.begin(), ids.end(), [](const json& id) {
                         return id.is_number_unsigned();
                       });
  check(are_ids, context, ": its category_ids are no list of ids");
  return with_context(context, [&] { return CategoryIds(ids.get<std::vector<std::int64_t>>()); });
}

/// The noise of a diffusion model's training; empty if the metadata have none.
std::optional<ProcessOptions> process_of(const Metadata& metadata, const std::string& context) {
  const std::string schedule = value_or(metadata, "noise_schedule", "");
  if (schedule.empty()) return {};
  const double steps = number_or(metadata, "diffusion_steps", 0);
  check(steps >= 1 && steps <= kMaxDiffusionSteps && steps == std::floor(steps), context,
        ": its diffusion_steps is ", in_quotes(value_or(metadata, "diffusion_steps", "")),
        ", expected a whole number from 1 to ", kMaxDiffusionSteps);
  ProcessOptions process;
  process.schedule = parse_name<NoiseSchedule>(context + ": its noise_schedule", schedule);
  process.steps = static_cast<std::int64_t>(steps);
  return process;
}

}  // namespace

PendingFile weights_file(const std::filesystem::path& path, const Model& model,
                         const std::map<std::string, Tensor>& values, const WeightsInfo& info) {
  PendingFile file{path, values, metadata_of(model)};
  Metadata& metadata = file.metadata;
  metadata["dataset"] = info.dataset;
  metadata["classes"] = json_text(json(info.classes));
  metadata["mean"] = json_text(json(info.normalization.mean));
  metadata["std"] = json_text(json(info.normalization.deviation));
  metadata["crop_pct"] = json_text(json(info.crop.crop_pct));
  metadata["crop_mode"] = name_of(info.crop.mode);
  metadata["interpolation"] = name_of(info.crop.filter);
  if (info.categories.are_compact())
    metadata["category_ids"] = json_text(json(info.categories.ids()));
  if (info.held_out) add_held_out(metadata, *info.held_out);
  if (info.exif_orientation != ExifOrientation::ignore)
    metadata["exif_orientation"] = name_of(info.exif_orientation);
  if (info.latents) add_latent_source(metadata, *info.latents);
  if (info.process) {
    metadata["noise_schedule"] = name_of(info.process->schedule);
    metadata["diffusion_steps"] = std::to_string(info.process->steps);
  }
  metadata["epoch"] = std::to_string(info.epoch);
  metadata["scores"] = json_text(json(info.scores));
  return file;
}

WeightsInfo weights_info(const Metadata& metadata, const std::filesystem::path& path) {
  if (!metadata.contains("config")) return foreign_weights_info(path);
  WeightsInfo info;
  info.dataset = visible_text(value_or(metadata, "dataset", ""));
  const json classes = parse_json(value_or(metadata, "classes", "[]"));
  if (classes.is_array()) {
    for (const json& name : classes) {
      if (name.is_string()) info.classes.push_back(visible_text(name.get<std::string>()));
    }
  }
  info.categories = category_ids(metadata, path.string());
  Normalization& n = info.normalization;
  n.mean = channel_values(value_or(metadata, "mean", ""), n.mean);
  n.deviation = channel_values(value_or(metadata, "std", ""), n.deviation);
  for (const float deviation : n.deviation) {
    check(deviation > 0, path.string(), ": its std is not positive");
  }
  info.crop.crop_pct = number_or(metadata, "crop_pct", info.crop.crop_pct);
  check(info.crop.crop_pct > 0 && info.crop.crop_pct <= 1, path.string(), ": its crop_pct is ",
        info.crop.crop_pct, ", expected more than 0 and at most 1");
  info.crop.mode =
      parse_name<CropMode>("crop_mode", value_or(metadata, "crop_mode", name_of(info.crop.mode)));
  info.crop.filter = parse_name<Filter>(
      "interpolation", value_or(metadata, "interpolation", name_of(info.crop.filter)));
  info.held_out = held_out(metadata, path.string());
  info.exif_orientation = parse_name<ExifOrientation>(
      "exif_orientation", value_or(metadata, "exif_orientation", name_of(info.exif_orientation)));
  info.latents = latent_source(metadata, path.string());
  info.process = process_of(metadata, path.string());
  const double epoch = number_or(metadata, "epoch", -1);
  if (epoch >= 0 && epoch < 1e15) info.epoch = static_cast<std::int64_t>(epoch);
  if (metadata.contains("top1")) info.scores["top1"] = number_or(metadata, "top1", 0);  // earlier
  const json scores = parse_json(value_or(metadata, "scores", "{}"));
  if (scores.is_object()) {
    for (const auto& [name, score] : scores.items()) {
      if (score.is_number()) info.scores[visible_text(name)] = score.get<double>();
    }
  }
  return info;
}

WeightsInfo read_weights_info(const std::filesystem::path& path) {
  return weights_info(read_safetensors(path).metadata, path);
}

ModelClasses learned_classes(const WeightsInfo& info, std::int64_t count) {
  return {info.classes.empty() ? count : std::ssize(info.classes), info.classes, info.labels};
}

std::string other_colors(const Metadata& metadata, const std::filesystem::path& path,
                         const Normalization& own) {
  if (!metadata.contains("mean") && !find_hub_config(path)) return "";
  const Normalization theirs = weights_info(metadata, path).normalization;
  if (own.mean == theirs.mean && own.deviation == theirs.deviation) return "";
  const auto flag = [](const char* name, const std::array<float, 3>& v) {
    return concat(" --", name, " ", v[0], ",", v[1], ",", v[2]);
  };
  return "was trained with" + flag("mean", theirs.mean) + flag("std", theirs.deviation) +
         ", but this run uses other values";
}

}  // namespace fovea
