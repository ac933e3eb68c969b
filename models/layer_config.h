// The settings that several families share, read from JSON and written to it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/config_reader.h"
#include "models/layers/block.h"
#include "models/layers/patch_embed.h"

namespace fovea {

/// img_size (required), patch_size, in_chans.
void read_image(ConfigReader& r, PatchConfig& c);
/// embed_dim, depth, num_heads (all required), mlp_ratio, qkv_bias, norm_eps, drop_path.
void read_encoder(ConfigReader& r, EncoderConfig& c);
/// Throws unless the image is cut into whole patches and the width into whole heads.
void check_sizes(const std::string& where, const PatchConfig& image, const EncoderConfig& c);

void write_image(nlohmann::json& config, const PatchConfig& c);
void write_encoder(nlohmann::json& config, const EncoderConfig& c);

}  // namespace fovea
