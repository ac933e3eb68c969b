// Reader for the config.json of diffusers' AutoencoderKL.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/checkpoints/hub_config.h"

namespace fovea {

[[nodiscard]] bool is_diffusers_vae_config(const nlohmann::json& root);

/// Throws Error, starting with the key, for settings that no model here has.
[[nodiscard]] HubConfig read_diffusers_vae_config(const nlohmann::json& root);

}  // namespace fovea
