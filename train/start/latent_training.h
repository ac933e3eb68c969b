// Training on latents: what differs from training on pictures.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/packed/latent_file.h"
#include "engine/base/notices.h"
#include "models/model.h"
#include "train/run/task_info.h"
#include "train/settings/config.h"

namespace fovea {

/// Throws UsageError, naming the flag, if one of these changes pixels: latents have none. --hflip
/// chooses the moments of mirrored images.
void refuse_pixel_flags(const std::vector<Setting>& flags);

/// Sets a val-fraction if one file holds the latents of both splits, and adds a notice.
void hold_out_latents(TrainConfig& config, Notices& notices);

/// Adds channels and size of stored latents to a model's settings that lack them; null: pictures.
void fit_to_latents(nlohmann::json& overrides, const LatentInfo* latents);

/// Throws UsageError unless the model takes the data set's latents or, if `latents` is null, RGB
/// images.
void check_input(const Model& model, const LatentInfo* latents);

/// The latents that a task trains on: stored ones, or those that it makes of images.
[[nodiscard]] std::optional<LatentSource> latents_of(const Dataset& dataset, const TaskInfo& task);

/// Throws if weights with these metadata, of the file `where`, were trained on latents of another
/// VAE.
void require_vae_of(const Metadata& metadata, const std::string& where,
                    const LatentSource& latents);
/// The same for the last weights in the folder of a run that is resumed.
void require_vae_of_run(const std::filesystem::path& folder, const LatentSource& latents);

/// Keeps the weights of the VAE that encodes a run's images, see keep_vae(); a failure is a notice.
void keep_vae_of(const TrainConfig& config, const TaskInfo& task, Notices& notices);
/// Lets a resumed run take the kept weights of the VAE that its last weights were trained with.
void take_kept_vae(TrainConfig& config, const std::filesystem::path& folder);

}  // namespace fovea
