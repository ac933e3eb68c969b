// The preprocessing of images in transformers: preprocessor_config.json.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/checkpoints/hub_config.h"

namespace fovea {

/// Sets the mean, std, crop and filter of `hub` from the folder's preprocessor_config.json, and
/// "img_size" in `config` where the model takes images of any size and the file names another one
/// (DINOv2). Without the file, they are those of the published weights of `type`. Throws
/// Error, starting with the file's path, on values of an unexpected type.
void read_transformers_images(const std::filesystem::path& folder, const std::string& type,
                              nlohmann::json& config, HubConfig& hub);

}  // namespace fovea
