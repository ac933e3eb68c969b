// Checks of settings, models and weights against stored latents.
#include "train/start/latent_training.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/fields.h"
#include "data/sources/packed/latents.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "models/checkpoints/checkpoint.h"
#include "train/run/run_paths.h"
#include "train/tasks/diffusion.h"
#include "train/tasks/kept_vae.h"

namespace fovea {

using nlohmann::json;

void refuse_pixel_flags(const std::vector<Setting>& flags) {
  AugmentOptions augment;
  MixOptions mix;
  EvaluationCrop crop;
  Normalization normalization{};
  Fields of_pixels;
  add_fields(of_pixels, augment);
  add_fields(of_pixels, mix);
  add_fields(of_pixels, crop);
  add_fields(of_pixels, normalization);
  for (const Setting& flag : flags) {
    const bool is_of_pixels = flag.name != "hflip" && lookup_field(of_pixels, flag.name) != nullptr;
    check_usage(!is_of_pixels, "--", flag.name, ": got ", flag.text,
                ", but --dataset latents has no pixels to change: ", program_call("encode"),
                " prepares them");
  }
}

void hold_out_latents(TrainConfig& config, Notices& notices) {
  DatasetOptions options = dataset_options(config);
  options.data_dir = data_folder(options);
  if (!is_one_latent_file(options)) return;
  apply_settings(config, {{"val-fraction", "0.01", kDerived}});
  notices.add(options.data_dir.string(), ": holds the latents of both splits, so 1 % of each ",
              "class is for validation; --val-fraction sets another share");
}

void fit_to_latents(nlohmann::json& overrides, const LatentInfo* latents) {
  if (latents == nullptr) return;
  const auto [height, width] = latents->size;
  const json fitting{{"in_chans", latents->channels}, {"img_size", {height, width}}};
  for (const auto& [key, value] : fitting.items()) {
    if (!overrides.contains(key)) overrides[key] = value;
  }
}

void check_input(const Model& model, const LatentInfo* latents) {
  const ModelInfo& info = model.info();
  if (latents == nullptr) {
    check(info.in_chans == Image::kChannels, info.name, ": in_chans: got ", info.in_chans,
          ", expected ", Image::kChannels, ", because pictures are read as RGB");
    return;
  }
  const ImageSize size{info.img_size[0], info.img_size[1]};
  const bool fits = info.in_chans == latents->channels && size == latents->size;
  check_usage(fits, "--model: ", info.name, " takes ", info.in_chans, " channels of ",
              to_string(size), ", but the latents have ", latents->channels, " of ",
              to_string(latents->size), "; add --img-size ", to_string(latents->size),
              " --model-args '{\"in_chans\": ", latents->channels, "}'");
}

std::optional<LatentSource> latents_of(const Dataset& dataset, const TaskInfo& task) {
  if (const LatentInfo* const stored = dataset.latents()) return stored->source;
  return task.latents;
}

void require_vae_of(const Metadata& metadata, const std::string& where,
                    const LatentSource& latents) {
  const std::optional<LatentSource> trained = latent_source(metadata, where);
  if (trained) require_same_vae({*trained, where}, {latents, "this run"});
}

void keep_vae_of(const TrainConfig& config, const TaskInfo& task, Notices& notices) {
  const DiffusionOptions* const diffusion = diffusion_of(config);
  if (!task.latents || diffusion == nullptr || diffusion->vae.empty()) return;
  const std::string failure = keep_vae(diffusion->vae, task.latents->hash);
  if (failure.empty()) return;
  notices.add("--vae ", diffusion->vae.string(), ": its weights cannot be kept (", failure,
              "); if that run is continued, this one loses its VAE");
}

void take_kept_vae(TrainConfig& config, const std::filesystem::path& folder) {
  DiffusionOptions* const diffusion = diffusion_of(config);
  if (diffusion == nullptr || diffusion->vae.empty()) return;
  const std::filesystem::path weights = RunPaths{folder}.weights("last");
  std::error_code none;
  if (!std::filesystem::exists(weights, none)) return;
  const auto trained = latent_source(read_metadata(weights), weights.string());
  if (!trained) return;
  diffusion->vae = vae_with_hash(diffusion->vae, trained->hash);
}

void require_vae_of_run(const std::filesystem::path& folder, const LatentSource& latents) {
  const std::filesystem::path weights = RunPaths{folder}.weights("last");
  std::error_code none;
  if (!std::filesystem::exists(weights, none)) return;
  require_vae_of(read_metadata(weights), weights.string(), latents);
}

}  // namespace fovea
