// Reader for the config.json and preprocessor_config.json of Hugging Face transformers: ViT, DeiT,
// ViT-MAE, DINOv2 with and without registers, and CLIP's image encoder.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/checkpoints/hub_config.h"

namespace fovea {

/// True if a config.json belongs to one of these models.
[[nodiscard]] bool is_transformers_config(const nlohmann::json& root);

/// The model, its classes and its preprocessing. `folder` may have a preprocessor_config.json;
/// without it, they are those of the published weights. The model has
/// a head if "architectures" names a classifier or a projection; else it returns the pooled tokens.
/// Throws Error, starting with the file's name, for settings that no model here has.
[[nodiscard]] HubConfig read_transformers_config(const nlohmann::json& root,
                                                 const std::filesystem::path& folder);

}  // namespace fovea
